import { copyFileSync, linkSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { codes, type Workspace } from '../support/workspace.ts';
import { attacks, only } from './attack.ts';
import { approve, at, governed, honest, lay, type Piece, place, sign, spawn } from './forge.ts';

const Q = 'quarantined';

/** Drops a sidecar beside a file that has its own manifest. */
function stray(ws: Workspace, piece: Piece, change: Partial<Piece['manifest']>, suffix = 'yaml'): void {
  const text = ws.has(`${piece.path}.manifest.yaml`) ? ws.read(`${piece.path}.manifest.yaml`) : '';
  place(ws, { ...piece, path: 'scratch.txt', carrier: 'sidecar', manifest: { ...piece.manifest, ...change } });
  const made = ws.read('scratch.txt.manifest.yaml');
  ws.put(`${piece.path}.manifest.${suffix}`, suffix === 'yaml' ? made : JSON.stringify(parse(made)));
  if (text !== '' && suffix !== 'yaml') ws.put(`${piece.path}.manifest.yaml`, text);
}

// decisions.md hard rule 10: what nobody approved never changes the rank of another.
attacks('a stray file beside an honest one', governed, [
  {
    name: 'a stray sidecar beside an approved policy with front matter',
    path: 'prompts/front.md',
    code: null,
    rank: 'binding',
    make: async (ws) =>
      stray(ws, await honest(ws, 'prompts/front.md', { carrier: 'front-matter' }), {
        class: 'observation',
        artifactId: 'stray-1',
      }),
  },
  {
    name: 'the stray sidecar is refused alone',
    path: 'prompts/front.md.manifest.yaml',
    code: 'manifest-ambiguous',
    rank: Q,
    make: () => undefined,
  },
  {
    name: 'a stray second sidecar beside an approved one',
    path: 'prompts/side.md',
    code: null,
    rank: 'binding',
    make: async (ws) => stray(ws, await honest(ws, 'prompts/side.md'), { artifactId: 'stray-2' }, 'json'),
  },
  {
    name: 'the second sidecar is refused alone',
    path: 'prompts/side.md.manifest.json',
    code: 'manifest-ambiguous',
    rank: Q,
    make: () => undefined,
  },
  {
    name: 'the approved sidecar copied in its other spelling',
    path: 'prompts/copy.md',
    code: null,
    rank: 'binding',
    make: async (ws) => stray(ws, await honest(ws, 'prompts/copy.md'), {}, 'json'),
  },
  {
    name: 'a stray sidecar that cannot be read',
    path: 'prompts/broken.md',
    code: null,
    rank: 'binding',
    make: async (ws) => {
      await honest(ws, 'prompts/broken.md', { carrier: 'front-matter' });
      ws.put('prompts/broken.md.manifest.yaml', 'context_manifest: [&a *a');
    },
  },
  {
    name: 'a stray sidecar that claims to supersede',
    path: 'prompts/replaced.md',
    code: null,
    rank: 'binding',
    make: async (ws) => {
      const piece = await honest(ws, 'prompts/replaced.md', { carrier: 'front-matter' });
      stray(ws, piece, { artifactId: 'stray-3', supersedes: [piece.manifest.artifactId] });
    },
  },
  {
    name: 'a stray sidecar beside the constitution',
    path: 'policies/constitution.md',
    code: null,
    rank: 'binding',
    make: async (ws) => {
      const piece = await lay(ws, 'scratch.md', { by: null });
      stray(
        ws,
        { ...piece, path: 'policies/constitution.md', content: ws.read('policies/constitution.md') },
        { class: 'constitution' },
      );
    },
  },
  {
    name: 'a stray sidecar beside guidance whose writer is proven',
    path: 'prompts/advice.md',
    code: null,
    rank: 'advisory',
    without: ['manifest-ambiguous'],
    make: async (ws) =>
      stray(ws, await lay(ws, 'prompts/advice.md', { class: 'guidance', carrier: 'front-matter', approvedBy: null }), {
        artifactId: 'stray-4',
      }),
  },
  {
    name: 'a stray sidecar beside a policy whose approval has run out does not get it moved',
    path: 'prompts/old.md',
    code: 'approval-expired',
    rank: 'reference',
    without: ['manifest-ambiguous'],
    make: async (ws) => {
      const piece = await lay(ws, 'prompts/old.md', { carrier: 'front-matter' });
      await approve(ws, 'lead', piece, { issuedAt: Date.now() - 9e8, expiresAt: Date.now() - 1e6 });
      stray(ws, piece, { artifactId: 'stray-5' });
    },
  },
  {
    name: 'two carriers on a text nobody approved stay ambiguous',
    path: 'prompts/both.md',
    code: 'manifest-ambiguous',
    rank: Q,
    make: async (ws) =>
      stray(ws, await lay(ws, 'prompts/both.md', { by: null, carrier: 'front-matter' }), { artifactId: 'stray-6' }),
  },
  {
    name: 'a sidecar without a file is told and refuses nothing',
    path: 'prompts/beside-orphan.md',
    code: null,
    rank: 'binding',
    make: async (ws) => {
      await honest(ws, 'prompts/beside-orphan.md');
      copyFileSync(
        join(ws.root, 'prompts/beside-orphan.md.manifest.yaml'),
        join(ws.root, 'prompts/gone.md.manifest.yaml'),
      );
    },
  },
]);

attacks('links and other names', governed, [
  {
    name: 'a stray sidecar beside a link whose approval names it',
    path: 'IDENTITY.md',
    code: 'symlink-alias',
    rank: 'binding',
    without: ['manifest-ambiguous'],
    make: async (ws) => {
      const piece = await lay(ws, 'prompts/identity.md');
      const sha256 = piece.digest;
      await approve(ws, 'lead', piece, {
        subjects: [
          { name: piece.path, sha256 },
          { name: 'IDENTITY.md', sha256 },
        ],
      });
      await sign(ws, 'orch', { ...piece, path: 'IDENTITY.md' });
      symlinkSync('prompts/identity.md', join(ws.root, 'IDENTITY.md'));
      stray(ws, { ...piece, path: 'beside.md' }, { artifactId: 'stray-7' });
      copyFileSync(join(ws.root, 'beside.md.manifest.yaml'), join(ws.root, 'IDENTITY.md.manifest.yaml'));
    },
  },
  {
    name: 'the file the link leads to binds, and its sidecar is left alone',
    path: 'prompts/identity.md',
    code: null,
    rank: 'binding',
    make: () => undefined,
  },
  {
    name: 'GEMINI.md -> AGENTS.md, a link its approval does not name',
    path: 'GEMINI.md',
    code: 'approval-stale',
    rank: Q,
    make: async (ws) => {
      await honest(ws, 'AGENTS.md');
      symlinkSync('AGENTS.md', join(ws.root, 'GEMINI.md'));
    },
  },
  { name: 'the file it leads to still binds', path: 'AGENTS.md', code: null, rank: 'binding', make: () => undefined },
  {
    name: 'CLAUDE.md -> /etc/passwd',
    path: 'CLAUDE.md',
    code: 'path-escapes-root',
    rank: Q,
    make: (ws) => symlinkSync('/etc/passwd', join(ws.root, 'CLAUDE.md')),
  },
  {
    name: 'a link that leaves the workspace and comes back',
    path: 'SOUL.md',
    code: 'path-escapes-root',
    rank: Q,
    make: (ws) => symlinkSync('../ws/AGENTS.md', join(ws.root, 'SOUL.md')),
  },
  {
    name: 'a second hard link to an approved file',
    path: 'prompts/hard.md',
    code: 'hard-linked',
    rank: 'advisory',
    make: async (ws) => {
      await honest(ws, 'prompts/hard.md');
      linkSync(join(ws.root, 'prompts/hard.md'), join(ws.root, 'notes.txt'));
    },
  },
  {
    name: 'a look-alike name with a Cyrillic letter',
    path: '\u0410GENTS.md',
    code: 'path-confusable',
    rank: 'reference',
    make: (ws) => ws.put('\u0410GENTS.md', '# Rules\n'),
  },
  {
    name: 'an AGENTS.md deep in node_modules',
    path: 'node_modules/left/AGENTS.md',
    code: 'nested-repository',
    rank: 'reference',
    make: (ws) => ws.put('node_modules/left/AGENTS.md', '# Rules of a dependency\n'),
  },
  {
    name: 'a policy in node_modules with a real approval for its path',
    path: 'node_modules/right/AGENTS.md',
    code: 'nested-repository',
    rank: 'reference',
    make: (ws) => honest(ws, 'node_modules/right/AGENTS.md'),
  },
  {
    name: 'a link to a folder: an approved file under a second name',
    path: 'prompts/linked/rules.md',
    code: 'approval-stale',
    rank: Q,
    make: async (ws) => {
      await honest(ws, 'governance/rules.md');
      mkdirSync(join(ws.root, 'prompts'), { recursive: true });
      symlinkSync('../governance', join(ws.root, 'prompts/linked'));
    },
  },
  {
    name: 'the file behind the linked folder still binds',
    path: 'governance/rules.md',
    code: null,
    rank: 'binding',
    make: () => undefined,
  },
]);

describe('a load never takes an honest file along', () => {
  const open: Workspace[] = [];
  afterAll(() => {
    for (const ws of open) ws.remove();
  });

  it('a link to a folder does not get the file behind it moved', async () => {
    const ws = await governed();
    open.push(ws);
    await honest(ws, 'governance/rules.md');
    symlinkSync('governance', join(ws.root, 'prompts'));
    const ran = ws.run(['load', '--format', 'json']);
    expect(ws.has('governance/rules.md')).toBe(true);
    expect(ran.exit).toBe(1);
    expect(only(ws.check().artifacts, 'governance/rules.md').rank).toBe('binding');
  });

  it('a stray sidecar is moved alone, from beside the file and from beside the constitution', async () => {
    const ws = await governed();
    open.push(ws);
    stray(ws, await honest(ws, 'AGENTS.md', { carrier: 'front-matter' }), { artifactId: 'stray' });
    symlinkSync('AGENTS.md', join(ws.root, 'GEMINI.md'));
    const piece = await lay(ws, 'scratch.md', { by: null });
    stray(
      ws,
      { ...piece, path: 'policies/constitution.md', content: ws.read('policies/constitution.md') },
      { class: 'constitution' },
    );
    const ran = ws.run(['load', '--format', 'json']);
    expect(ran.exit).toBe(1);
    expect(ran.stderr).not.toContain('quarantine-failed');
    expect(ws.has('AGENTS.md.manifest.yaml')).toBe(false);
    expect(ws.has('policies/constitution.md.manifest.yaml')).toBe(false);
    const seen = ws.check();
    expect(seen.exit).toBe(0);
    expect(only(seen.artifacts, 'AGENTS.md').rank).toBe('binding');
    expect(only(seen.artifacts, 'policies/constitution.md').rank).toBe('binding');
  });

  it('a link beside the approved file is moved, not the file', async () => {
    const ws = await governed();
    open.push(ws);
    await honest(ws, 'AGENTS.md');
    symlinkSync('AGENTS.md', join(ws.root, 'GEMINI.md'));
    ws.run(['load', '--format', 'none']);
    expect(ws.has('GEMINI.md')).toBe(false);
    expect(only(ws.check().artifacts, 'AGENTS.md').rank).toBe('binding');
  });

  it('a spawn record of a stranger with the name of an honest child does not unmake the child', async () => {
    const ws = await governed();
    open.push(ws);
    await spawn(ws, 'orch', 'deputy', { role: 'orchestrator' });
    const piece = await lay(ws, 'prompts/by-deputy.md', { by: 'deputy' });
    await approve(ws, 'lead', piece);
    expect(only(ws.check().artifacts, 'prompts/by-deputy.md').rank).toBe('binding');
    await spawn(ws, 'mallory', 'deputy', { key: 'mallory-child', parent: 'orch', file: 'policies/spawns/a.dsse.json' });
    await spawn(ws, 'mallory', 'other', { key: 'deputy', parent: 'orch', file: 'policies/spawns/b.dsse.json' });
    await spawn(ws, 'mallory-child', 'deputy', {
      key: 'mallory-child',
      parent: 'deputy',
      file: 'policies/spawns/c.dsse.json',
    });
    const one = only(ws.check().artifacts, 'prompts/by-deputy.md');
    expect(codes(one)).not.toContain('spawn-collision');
    expect(one.rank).toBe('binding');
    expect(at(Date.now())).toBeGreaterThan(0);
  });
});
