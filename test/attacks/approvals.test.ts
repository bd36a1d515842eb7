import { afterAll, describe, expect, it } from 'vitest';
import { codes } from '../support/workspace.ts';
import { attacks, only } from './attack.ts';
import { approve, DAY, governed, honest, lay, place, resign, revoke } from './forge.ts';

const Q = 'quarantined';

attacks('approvals that do not carry', governed, [
  {
    name: 'an approver approves T3',
    path: 'prompts/t3.md',
    code: 'approver-not-permitted',
    rank: Q,
    make: async (ws) => approve(ws, 'lead', await lay(ws, 'prompts/t3.md', { by: 'f13', level: 'T3' })),
  },
  {
    name: 'an approver approves a constitution',
    path: 'prompts/constitution.md',
    code: 'approver-not-permitted',
    rank: Q,
    make: async (ws) => approve(ws, 'lead', await lay(ws, 'prompts/constitution.md', { class: 'constitution' })),
  },
  {
    name: 'an approver approves outside its paths',
    path: 'prompts/scope.md',
    code: 'approver-not-permitted',
    rank: Q,
    make: async (ws) => approve(ws, 'pay', await lay(ws, 'prompts/scope.md', { approvedBy: 'pay' })),
  },
  {
    name: 'the same approver within its paths binds',
    path: 'services/pay/AGENTS.md',
    code: null,
    rank: 'binding',
    make: async (ws) => approve(ws, 'pay', await lay(ws, 'services/pay/AGENTS.md', { approvedBy: 'pay' })),
  },
  {
    name: 'an approval that has run out',
    path: 'prompts/ran-out.md',
    code: 'approval-expired',
    rank: 'reference',
    make: async (ws) =>
      approve(ws, 'lead', await lay(ws, 'prompts/ran-out.md'), {
        issuedAt: Date.now() - 9 * DAY,
        expiresAt: Date.now() - DAY,
      }),
  },
  {
    name: 'an approval without an end',
    path: 'prompts/endless.md',
    code: 'approval-too-long',
    rank: 'reference',
    make: async (ws) => approve(ws, 'lead', await lay(ws, 'prompts/endless.md'), { expiresAt: null }),
  },
  {
    name: 'an approval that runs over maxDays',
    path: 'prompts/too-long.md',
    code: 'approval-too-long',
    rank: 'reference',
    make: async (ws) =>
      approve(ws, 'lead', await lay(ws, 'prompts/too-long.md'), { expiresAt: Date.now() + 400 * DAY }),
  },
  {
    name: 'a back-dated approval that reaches further than maxDays',
    path: 'prompts/back-dated.md',
    code: 'approval-too-long',
    rank: 'reference',
    make: async (ws) =>
      approve(ws, 'lead', await lay(ws, 'prompts/back-dated.md'), {
        issuedAt: Date.now() - 300 * DAY,
        expiresAt: Date.now() + 90 * DAY,
      }),
  },
  {
    name: 'an approval dated in the future',
    path: 'prompts/future.md',
    code: 'approval-not-yet-valid',
    rank: 'reference',
    make: async (ws) => approve(ws, 'lead', await lay(ws, 'prompts/future.md'), { issuedAt: Date.now() + DAY }),
  },
  {
    name: 'expires_at of the manifest has passed, whatever was approved',
    path: 'prompts/expired.md',
    code: 'expired',
    rank: 'reference',
    make: async (ws) => approve(ws, 'lead', await lay(ws, 'prompts/expired.md', { expiresAt: Date.now() - DAY })),
  },
  {
    name: 'a valid approval, but approved_by names another',
    path: 'prompts/wrong-name.md',
    code: 'approval-unproven',
    rank: Q,
    make: async (ws) => approve(ws, 'lead', await lay(ws, 'prompts/wrong-name.md', { approvedBy: 'f13' })),
  },
  {
    name: 'written under another constitution',
    path: 'prompts/other-law.md',
    code: 'constitution-mismatch',
    rank: 'advisory',
    make: async (ws) =>
      approve(ws, 'lead', await lay(ws, 'prompts/other-law.md', { constitution: `sha256:${'0'.repeat(64)}` })),
  },
  {
    name: 'a garbage file among the approvals changes nothing',
    path: 'prompts/beside-garbage.md',
    code: null,
    rank: 'binding',
    make: async (ws) => {
      await honest(ws, 'prompts/beside-garbage.md');
      ws.put(
        'policies/approvals/garbage.dsse.json',
        '{"payloadType":"application/vnd.in-toto+json","payload":"AA==","signatures":[]}',
      );
      ws.put(`policies/approvals/${'a'.repeat(64)}-0123456789abcdef.dsse.json`, Buffer.from([0, 255, 254]));
      ws.put('policies/authorship/deep.dsse.json', '['.repeat(50_000));
    },
  },
  {
    name: 'an approver replaces a policy of the sovereign at T3',
    path: 'prompts/takes-over.md',
    code: 'supersedes-higher-authority',
    rank: Q,
    make: async (ws) => {
      const law = await lay(ws, 'prompts/law-t3.md', { by: 'f13', level: 'T3', approvedBy: 'f13' });
      await approve(ws, 'f13', law, { issuedAt: Date.now() - 60_000 });
      const next = await lay(ws, 'prompts/takes-over.md', { supersedes: [law.manifest.artifactId] });
      await approve(ws, 'lead', next, { replaces: [law.manifest.artifactId] });
    },
  },
  {
    name: 'and what it tried to replace still binds',
    path: 'prompts/law-t3.md',
    code: null,
    rank: 'binding',
    make: () => undefined,
  },
  {
    name: 'a superseded version restored',
    path: 'prompts/restored.md',
    code: 'superseded',
    rank: 'reference',
    make: async (ws) => {
      const first = await lay(ws, 'prompts/restored.md');
      await approve(ws, 'lead', first, { issuedAt: Date.now() - 60_000 });
      const second = await lay(ws, 'prompts/restored.md', { supersedes: [first.manifest.artifactId] });
      await approve(ws, 'lead', second, { replaces: [first.manifest.artifactId] });
      place(ws, first);
    },
  },
  {
    name: 'an unapproved file claims to supersede the binding one',
    path: 'prompts/usurper.md',
    code: 'approval-missing',
    rank: Q,
    make: async (ws) => {
      const { manifest } = await honest(ws, 'prompts/usurped.md');
      await lay(ws, 'prompts/usurper.md', { supersedes: [manifest.artifactId], approvedBy: null });
    },
  },
  {
    name: 'and the binding one still binds',
    path: 'prompts/usurped.md',
    code: null,
    rank: 'binding',
    make: () => undefined,
  },
  {
    name: 'an unapproved copy with the same artifact id',
    path: 'prompts/duplicate.md',
    code: 'artifact-id-duplicate',
    rank: 'reference',
    make: async (ws) => {
      const { manifest } = await honest(ws, 'prompts/original.md');
      await lay(ws, 'prompts/duplicate.md', { by: null, class: 'guidance', id: manifest.artifactId, approvedBy: null });
    },
  },
  {
    name: 'and the original still binds',
    path: 'prompts/original.md',
    code: null,
    rank: 'binding',
    make: () => undefined,
    without: ['artifact-id-duplicate'],
  },
  {
    name: 'a stranger copies the id of proven guidance, which keeps its rank',
    path: 'prompts/guide.md',
    code: null,
    rank: 'advisory',
    without: ['artifact-id-duplicate'],
    make: async (ws) => {
      const { manifest } = await lay(ws, 'prompts/guide.md', { class: 'guidance', approvedBy: null });
      await lay(ws, 'prompts/guide-copy.md', {
        by: null,
        class: 'guidance',
        id: manifest.artifactId,
        approvedBy: null,
      });
    },
  },
]);

attacks('revocations', governed, [
  {
    name: 'a revoked policy, by its id',
    path: 'prompts/revoked.md',
    code: 'revoked',
    rank: Q,
    make: async (ws) =>
      revoke(ws, 'lead', { artifactId: (await honest(ws, 'prompts/revoked.md')).manifest.artifactId }),
  },
  {
    name: 'a revoked text that gives itself a new id',
    path: 'prompts/new-id.md',
    code: 'revoked',
    rank: Q,
    make: async (ws) => {
      const { digest, content } = await honest(ws, 'prompts/old-id.md');
      await revoke(ws, 'lead', { digest });
      await lay(ws, 'prompts/new-id.md', { content });
    },
  },
  {
    name: 'revoked bytes copied without any manifest',
    path: 'prompts/bare-copy.md',
    code: 'revoked',
    rank: Q,
    make: async (ws) => {
      const { digest, content } = await honest(ws, 'prompts/to-copy.md');
      await revoke(ws, 'lead', { digest });
      ws.put('prompts/bare-copy.md', content);
    },
  },
  {
    name: 'revoked bytes that claim a level above the one who revoked them',
    path: 'prompts/above.md',
    code: 'revoked',
    rank: Q,
    make: async (ws) => {
      const { digest, content } = await honest(ws, 'prompts/to-raise.md');
      await revoke(ws, 'lead', { digest });
      await lay(ws, 'prompts/above.md', {
        by: null,
        author: 'f13',
        class: 'guidance',
        level: 'T3',
        approvedBy: null,
        content,
      });
    },
  },
  {
    name: 'a revocation by a stranger changes nothing',
    path: 'prompts/stranger.md',
    code: null,
    rank: 'binding',
    without: ['revoked'],
    make: async (ws) =>
      revoke(ws, 'mallory', { artifactId: (await honest(ws, 'prompts/stranger.md')).manifest.artifactId }),
  },
  {
    name: 'a revocation by a specialist changes nothing',
    path: 'prompts/by-spec.md',
    code: null,
    rank: 'binding',
    without: ['revoked'],
    make: async (ws) =>
      revoke(ws, 'spec', { artifactId: (await honest(ws, 'prompts/by-spec.md')).manifest.artifactId }),
  },
  {
    name: 'an approver cannot revoke a policy at T3',
    path: 'prompts/t3.md',
    code: null,
    rank: 'binding',
    without: ['revoked'],
    make: async (ws) => {
      const law = await lay(ws, 'prompts/t3.md', { by: 'f13', level: 'T3', approvedBy: 'f13' });
      await approve(ws, 'f13', law);
      await revoke(ws, 'lead', { artifactId: law.manifest.artifactId });
    },
  },
  {
    name: 'an approver cannot revoke outside its paths',
    path: 'prompts/out-of-scope.md',
    code: null,
    rank: 'binding',
    without: ['revoked'],
    make: async (ws) =>
      revoke(ws, 'pay', { artifactId: (await honest(ws, 'prompts/out-of-scope.md')).manifest.artifactId }),
  },
  {
    name: 'an approver cannot replace outside its paths',
    path: 'prompts/replaced.md',
    code: null,
    rank: 'binding',
    without: ['superseded'],
    make: async (ws) => {
      const law = await lay(ws, 'prompts/replaced.md');
      await approve(ws, 'lead', law, { issuedAt: Date.now() - 60_000 });
      const next = await lay(ws, 'services/pay/AGENTS.md', {
        approvedBy: 'pay',
        supersedes: [law.manifest.artifactId],
      });
      await approve(ws, 'pay', next, { replaces: [law.manifest.artifactId] });
    },
  },
  {
    name: 'approvals that carry nothing replace nothing',
    path: 'prompts/not-replaced.md',
    code: null,
    rank: 'binding',
    without: ['superseded', 'supersession-gap'],
    make: async (ws) => {
      const law = await lay(ws, 'prompts/not-replaced.md');
      await approve(ws, 'lead', law, { issuedAt: Date.now() - 60_000 });
      const next = await lay(ws, 'prompts/rival.md', { by: 'spec', approvedBy: 'spec' });
      for (const who of ['mallory', 'spec', 'orch', 'worker']) {
        await approve(ws, who, next, { replaces: [law.manifest.artifactId] });
        await approve(ws, who, { ...next, path: law.path }, { replaces: [law.manifest.artifactId] });
        await approve(ws, who, next, { approver: 'lead', replaces: [law.manifest.artifactId] });
      }
    },
  },
  {
    name: 'a revocation of another workspace changes nothing',
    path: 'prompts/other-ws.md',
    code: null,
    rank: 'binding',
    without: ['revoked'],
    make: async (ws) =>
      revoke(
        ws,
        'lead',
        { artifactId: (await honest(ws, 'prompts/other-ws.md')).manifest.artifactId },
        { workspace: 'example.test/other/app' },
      ),
  },
]);

describe('who may still approve', () => {
  const open: { remove(): void }[] = [];
  afterAll(() => {
    for (const ws of open) ws.remove();
  });

  it('two keys of one principal do not make two approvers', async () => {
    const ws = await governed({
      more: 'approvals: {threshold: {policy: 2}}\n',
      keys: { f13: ['f13'], lead: ['lead', 'lead-b'], lead2: ['lead2'], orch: ['orch'], spec: ['spec'], pay: ['pay'] },
    });
    open.push(ws);
    const twice = await lay(ws, 'prompts/twice.md');
    await approve(ws, 'lead', twice);
    await approve(ws, 'lead-b', twice, { approver: 'lead' });
    await approve(ws, ['lead', 'lead-b'], twice, { approver: 'lead', issuedAt: Date.now() - 5 });
    const two = await lay(ws, 'prompts/two.md');
    await approve(ws, 'lead', two);
    await approve(ws, 'lead2', two);
    const seen = ws.check();
    expect(codes(only(seen.artifacts, 'prompts/twice.md'))).toContain('approval-threshold');
    expect(only(seen.artifacts, 'prompts/twice.md').rank).toBe(Q);
    expect(only(seen.artifacts, 'prompts/two.md').rank).toBe('binding');
  });

  it('a removed, a departed and a compromised principal approve nothing any more', async () => {
    const ws = await governed();
    open.push(ws);
    await approve(ws, 'lead2', await lay(ws, 'prompts/removed.md', { approvedBy: 'lead2' }));
    const before = ws.read('policies/policy.yaml');
    ws.put('policies/policy.yaml', before.replace('  lead2: approver\n', ''));
    ws.put('policies/allowed_signers', ws.read('policies/allowed_signers').replace(/^lead2 .*\n/m, ''));
    await resign(ws);
    expect(codes(only(ws.check().artifacts, 'prompts/removed.md'))).toContain('approval-unproven');

    ws.put(
      'policies/policy.yaml',
      before
        .replace('  lead: approver\n', '  lead: {role: approver, departed: "2026-01-01T00:00:00Z"}\n')
        .replace('  lead2: approver\n', ''),
    );
    await resign(ws);
    await approve(ws, 'lead', await lay(ws, 'prompts/departed.md'), { issuedAt: Date.parse('2025-12-01T00:00:00Z') });
    const departed = only(ws.check().artifacts, 'prompts/departed.md');
    expect(codes(departed)).toContain('approver-not-permitted');
    expect(departed.rank).toBe(Q);

    ws.put('policies/policy.yaml', before.replace('  lead2: approver\n', ''));
    await resign(ws);
    await approve(ws, 'lead', await lay(ws, 'prompts/compromised.md'));
    await revoke(ws, 'f13', { actor: 'lead' });
    const compromised = only(ws.check().artifacts, 'prompts/compromised.md');
    expect(codes(compromised)).toContain('approval-unproven');
    expect(compromised.rank).toBe(Q);
  });
});

describe('who has left', () => {
  it('a departed approver revokes nothing any more', async () => {
    const ws = await governed();
    try {
      const file = 'policies/policy.yaml';
      ws.put(
        file,
        ws.read(file).replace('  lead2: approver', '  lead2: {role: approver, departed: "2026-01-01T00:00:00Z"}'),
      );
      await resign(ws);
      const { manifest } = await honest(ws, 'prompts/kept.md');
      await revoke(ws, 'lead2', { artifactId: manifest.artifactId });
      expect(only(ws.check().artifacts, 'prompts/kept.md').rank).toBe('binding');
    } finally {
      ws.remove();
    }
  });

  it('a key whose window has closed replaces nothing any more', async () => {
    const ws = await governed();
    try {
      const file = 'policies/allowed_signers';
      ws.put(file, ws.read(file).replace(/^lead2 /m, 'lead2 valid-before="20260101Z",'));
      await resign(ws);
      const law = await lay(ws, 'prompts/law.md');
      await approve(ws, 'lead', law, { issuedAt: Date.now() - 60_000 });
      const next = await lay(ws, 'prompts/next.md', { approvedBy: 'lead2', supersedes: [law.manifest.artifactId] });
      await approve(ws, 'lead2', next, { replaces: [law.manifest.artifactId] });
      const seen = ws.check();
      expect(seen.workspace.root).toBe('pinned');
      expect(only(seen.artifacts, 'prompts/law.md').rank).toBe('binding');
    } finally {
      ws.remove();
    }
  });
});
