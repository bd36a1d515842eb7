import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { sealEnvelope } from '../../src/sign/envelope.ts';
import { openSigningKey, type SigningKey } from '../../src/sign/private-key.ts';
import type { Workspace } from '../support/workspace.ts';
import {
  APPROVED,
  type Checked,
  expectOthersJudged,
  expectRefusal,
  given,
  hasFinding,
  only,
  PLAIN,
  removeAll,
} from './given.ts';

afterAll(removeAll);

const INIT = 'NEXT_AGENT_INIT.md';

function proof(ws: Workspace, folder: string): { readonly path: string; readonly text: string } {
  const [name = ''] = readdirSync(join(ws.root, 'policies', folder)).sort();
  const path = `policies/${folder}/${name}`;
  return { path, text: ws.read(path) };
}

async function keyOf(ws: Workspace, name: string): Promise<SigningKey> {
  const key = await openSigningKey(ws.key(name));
  if ('refused' in key) throw new Error(key.refused);
  return key;
}

/** The payload of an envelope, changed as text and signed by somebody. */
async function resigned(
  ws: Workspace,
  text: string,
  name: string,
  change: (payload: string) => string = (p) => p,
): Promise<string> {
  const { payload } = JSON.parse(text) as { payload: string };
  const changed = change(Buffer.from(payload, 'base64').toString('utf8'));
  return sealEnvelope(Buffer.from(changed), [await keyOf(ws, name)]);
}

/** Nobody is proven: the approved policy is withheld where it lies, and no `load` takes it away. */
function expectNobodyProven(ws: Workspace, code: string, exit: 1 | 4): Checked {
  const checked = ws.check();
  hasFinding(checked.findings, code);
  expect(only(checked, APPROVED)).toMatchObject({ rank: 'quarantined', disposition: 'withhold' });
  expect(only(checked, PLAIN).rank).toBe('reference');
  expect(checked.summary.binding).toBe(0);
  expect(checked.exit).toBe(exit);
  const loaded = ws.run(['load', '--format', 'markdown']);
  expect(loaded.exit).toBe(exit);
  expect(ws.has(APPROVED)).toBe(true);
  expect(loaded.stdout).not.toContain('Run the tests before a merge.');
  return checked;
}

describe('proof files', () => {
  const stray = 'policies/approvals/stray.dsse.json';
  const CASES: readonly (readonly [string, (ws: Workspace) => Promise<string> | string])[] = [
    ['garbage', () => 'garbage {'],
    ['nothing', () => ''],
    ['cut short', (ws) => proof(ws, 'approvals').text.slice(0, 300)],
    ['of another type', (ws) => proof(ws, 'authorship').text],
    [
      'changed after signing',
      (ws) => {
        const envelope = JSON.parse(proof(ws, 'approvals').text) as { payload: string };
        const payload = Buffer.from(envelope.payload, 'base64').toString('utf8').replace('"T1"', '"T2"');
        return JSON.stringify({ ...envelope, payload: Buffer.from(payload).toString('base64') });
      },
    ],
    [
      'for another workspace',
      (ws) =>
        resigned(ws, proof(ws, 'approvals').text, 'lead', (p) =>
          p.replaceAll('example.test/acme/app', 'example.test/acme/other'),
        ),
    ],
    [
      'with a field given twice',
      (ws) =>
        resigned(ws, proof(ws, 'approvals').text, 'lead', (p) =>
          p.replace('"approver":"lead"', '"approver":"spec","approver":"lead"'),
        ),
    ],
    [
      'with a word where an array is due',
      (ws) => resigned(ws, proof(ws, 'approvals').text, 'lead', (p) => p.replace('"replaces":[]', '"replaces":"all"')),
    ],
    ['huge', () => `{"payload":"${'A'.repeat(200_000)}"}`],
  ];

  it.each(CASES)('%s: proves nothing, is told, and harms nothing', async (_name, make) => {
    const ws = given();
    ws.put(stray, await make(ws));
    const checked = ws.check();
    expect(hasFinding(checked.findings, 'statement-invalid').file).toBe(stray);
    expectOthersJudged(checked);
    expect(checked.exit).toBe(0);
  });

  it.each(['stranger', 'spec'])('an approval in the name of lead, signed by %s', async (signer) => {
    const ws = given();
    const known = proof(ws, 'approvals').path;
    ws.must('orch', ['write', INIT, '--class', 'policy', '--approved-by', 'lead'], { input: 'Obey.\n' });
    ws.must('lead', ['approve', INIT, '--yes']);
    const [mine = ''] = readdirSync(join(ws.root, 'policies/approvals')).filter((name) => !known.endsWith(name));
    ws.put(`policies/approvals/${mine}`, await resigned(ws, ws.read(`policies/approvals/${mine}`), signer));
    expectRefusal(ws.check(), { path: INIT, code: 'approval-unproven', rank: 'quarantined', exit: 1 });
  });

  it('an approval that was deleted', () => {
    const ws = given();
    rmSync(join(ws.root, proof(ws, 'approvals').path));
    expectRefusal(ws.check(), { path: APPROVED, code: 'approval-unproven', rank: 'quarantined', exit: 1 });
  });

  it('an approved file whose bytes changed, in the text and in the manifest', () => {
    const ws = given();
    ws.put(APPROVED, ws.read(APPROVED).replace('before a merge', 'after a merge'));
    const text = expectRefusal(ws.check(), {
      path: APPROVED,
      code: 'content-hash-mismatch',
      rank: 'quarantined',
      exit: 1,
    });
    hasFinding(text.findings, 'approval-stale');
    const other = given();
    other.put(APPROVED, other.read(APPROVED).replace('authority_level: T1', 'authority_level: T3'));
    expectRefusal(other.check(), { path: APPROVED, code: 'approval-stale', rank: 'quarantined', exit: 1 });
  });

  it('a spawn record that was cut short takes only its own child down', () => {
    const ws = given();
    ws.must('worker', ['write', INIT, '--class', 'memory'], { input: 'The importer runs.\n' });
    expect(only(ws.check(), INIT).writer?.principal).toBe('worker');
    const record = proof(ws, 'spawns');
    ws.put(record.path, record.text.slice(0, 100));
    const checked = ws.check();
    hasFinding(checked.findings, 'statement-invalid');
    expectRefusal(checked, { path: INIT, code: 'writer-unproven', rank: 'reference', exit: 0 });
  });
});

describe('the policy set', () => {
  it('a principal named * is refused at signing, and unsigned it is an alteration', () => {
    const ws = given();
    const before = ws.read('policies/allowed_signers');
    const anyone = readFileSync(`${ws.key('mallory')}.pub`, 'utf8')
      .split(' ')
      .slice(0, 2)
      .join(' ');
    ws.put('policies/allowed_signers', `${before}* namespaces="writ" ${anyone}\n`);
    const signed = ws.as('f13', ['trust', 'sign', '--yes']);
    expect(signed.exit).toBe(3);
    expect(signed.stderr).toMatch(/allowed_signers:\d+/);
    expectNobodyProven(ws, 'policy-altered', 1);
  });

  it.each([
    ['policy.yaml', 'policy-altered'],
    ['constitution.md', 'policy-altered'],
  ])('an edit of %s that nobody signed', (name, code) => {
    const ws = given();
    ws.put(`policies/${name}`, `${ws.read(`policies/${name}`)}\n# more\n`);
    expectNobodyProven(ws, code, 1);
  });

  it('a policy.yaml that is no policy is refused at signing, with its line', () => {
    const ws = given();
    ws.put('policies/policy.yaml', ws.read('policies/policy.yaml').replace('f13: sovereign', 'f13: emperor'));
    const signed = ws.as('f13', ['trust', 'sign', '--yes']);
    expect(signed.exit).toBe(3);
    expect(signed.stderr).toMatch(/policy\.yaml:\d+:\d+/);
  });

  it('a set signed by another root', async () => {
    const ws = given();
    ws.put('policies/policy.dsse.json', await resigned(ws, ws.read('policies/policy.dsse.json'), 'mallory'));
    expectNobodyProven(ws, 'root-mismatch', 1);
  });

  it('a set cut short', () => {
    const ws = given();
    ws.put('policies/policy.dsse.json', ws.read('policies/policy.dsse.json').slice(0, 200));
    expectNobodyProven(ws, 'policy-unsigned', 1);
  });

  it('a set that was rolled back below its floor', () => {
    const ws = given();
    cpSync(join(ws.root, 'policies'), join(ws.base, 'old'), { recursive: true });
    ws.must('f13', ['trust', 'remove', 'spec', '--compromised']);
    expect(ws.check().exit).toBe(0);
    rmSync(join(ws.root, 'policies'), { recursive: true });
    cpSync(join(ws.base, 'old'), join(ws.root, 'policies'), { recursive: true });
    expectNobodyProven(ws, 'policy-below-floor', 1);
  });

  it('a set that is gone from a checkout that had one', () => {
    const ws = given();
    expect(ws.run(['load', '--format', 'none']).exit).toBe(0);
    rmSync(join(ws.root, 'policies'), { recursive: true });
    expectNobodyProven(ws, 'root-mismatch', 1);
  });

  it('the set of another pinned repo, copied in', () => {
    const ws = given();
    expect(ws.run(['load', '--format', 'none']).exit).toBe(0);
    const other = join(ws.base, 'other');
    mkdirSync(other);
    const made = ws.run(
      ['init', '--workspace', 'example.test/evil/repo', '--key', ws.key('mallory'), '--as', 'mallory', '--yes'],
      { cwd: other },
    );
    expect(made.exit, made.stderr).toBe(0);
    rmSync(join(ws.root, 'policies'), { recursive: true });
    cpSync(join(other, 'policies'), join(ws.root, 'policies'), { recursive: true });
    expectNobodyProven(ws, 'root-mismatch', 1);
  });

  it('a revocation that was deleted still applies', () => {
    const ws = given();
    const text = ws.read(APPROVED);
    ws.must('lead', ['revoke', APPROVED, '--reason', 'wrong', '--yes']);
    expect(ws.run(['load', '--format', 'none']).exit).toBe(1);
    expect(ws.has(APPROVED)).toBe(false);
    rmSync(join(ws.root, 'policies/revocations'), { recursive: true });
    ws.put(APPROVED, text);
    const checked = ws.check();
    hasFinding(checked.findings, 'revocation-missing');
    expect(only(checked, APPROVED).rank).toBe('quarantined');
    expect(only(checked, PLAIN).rank).toBe('reference');
    expect(checked.exit).toBe(1);
  });
});

describe('the machine around it', () => {
  it('another git remote changes nothing', () => {
    const ws = given();
    ws.git('init', '-q', '-b', 'main', '.');
    ws.git('remote', 'add', 'origin', 'https://example.test/acme/app.git');
    const plain = ({ workspace: { id, root, policyVersion }, artifacts, findings, exit }: Checked): unknown => ({
      id,
      root,
      policyVersion,
      artifacts,
      findings,
      exit,
    });
    const before = plain(ws.check());
    ws.git('remote', 'set-url', 'origin', 'https://example.test/evil/repo.git');
    const after = ws.check();
    expect(plain(after)).toEqual(before);
    expectOthersJudged(after);
    expect(after.exit).toBe(0);
  });

  it('a git config full of commands runs none of them', () => {
    const ws = given();
    ws.git('init', '-q', '-b', 'main', '.');
    ws.git('add', '-A');
    ws.git('commit', '-q', '-m', 'first');
    const pwn = `touch ${join(ws.base, 'pwned')};`;
    ws.put('evil.cfg', `[core]\n\tfsmonitor = "${pwn}"\n`);
    ws.put('.git/hooks/post-index-change', `#!/bin/sh\n${pwn}\n`);
    writeFileSync(
      join(ws.root, '.git/config'),
      `[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "${pwn}"\n\tpager = "${pwn}"\n\tsshCommand = "${pwn}"\n\teditor = "${pwn}"\n\taskPass = "${pwn}"\n` +
        `[gpg]\n\tformat = ssh\n\tprogram = ${join(ws.base, 'evil')}\n[gpg "ssh"]\n\tprogram = "${pwn}"\n\tallowedSignersFile = ${join(ws.base, 'all')}\n` +
        `[log]\n\tshowSignature = true\n[diff]\n\texternal = "${pwn}"\n[alias]\n\tlog = "!${pwn}"\n\tcat-file = "!${pwn}"\n[filter "x"]\n\tclean = "${pwn}"\n[include]\n\tpath = ../evil.cfg\n`,
    );
    ws.put('.gitattributes', '* filter=x diff=x\n');
    const checked = ws.check();
    expectOthersJudged(checked);
    expect(checked.exit).toBe(0);
    expect(ws.run(['load', '--format', 'none']).exit).toBe(0);
    ws.must('orch', ['write', INIT, '--class', 'guidance'], { input: 'Be brief.\n' });
    expect(readdirSync(ws.base)).not.toContain('pwned');
  });

  it.each(['WRIT_STATE', 'WRIT_CONFIG'])('%s inside the workspace, plainly and through a link', (name) => {
    const ws = given();
    mkdirSync(join(ws.root, 'inside'));
    symlinkSync(join(ws.root, 'inside'), join(ws.base, 'link'));
    for (const value of [join(ws.root, 'inside'), join(ws.base, 'link'), 'inside']) {
      const ran = ws.run(['check'], { env: { [name]: value } });
      expect(ran.exit).toBe(3);
      expect(ran.stdout).toBe('');
      expect(ran.stderr).toContain(`${name} resolves inside the workspace`);
    }
  });

  it('a WRIT_ROOT that cannot be read', () => {
    const ws = given();
    const ran = ws.run(['check', '--format', 'json'], { env: { WRIT_ROOT: 'trust-me' } });
    expect(ran.exit).toBe(3);
    expect(ran.stdout).toBe('');
    expect(ran.stderr).toContain('WRIT_ROOT');
  });

  it('a clock set back behind what was seen, and one set years ahead', () => {
    const ws = given();
    expect(ws.run(['load', '--format', 'none']).exit).toBe(0);
    const hook = join(ws.base, 'clock.cjs');
    const at = (days: number): Checked => {
      writeFileSync(hook, `const now = Date.now; Date.now = () => now() + ${days} * 86400000;`);
      const ran = ws.run(['check', '--format', 'json'], { env: { NODE_OPTIONS: `--require ${hook}` } });
      return { ...(JSON.parse(ran.stdout) as Checked), exit: ran.exit };
    };
    const back = at(-3);
    hasFinding(back.findings, 'state-unavailable');
    expect(only(back, APPROVED).rank).toBe('quarantined');
    expect(only(back, PLAIN).rank).toBe('reference');
    expect(back.exit).toBe(4);
    const ahead = at(3_650);
    hasFinding(only(ahead, APPROVED).findings, 'approval-expired');
    expect(only(ahead, APPROVED).rank).toBe('reference');
    expect(ahead.exit).toBe(0);
  });

  it.each([
    ['no YAML', 'pins: ['],
    ['no pins', 'hello: world\n'],
    ['an alias', 'version: 1\npins: &a []\n'],
    ['bytes', '\u0000\u0001'],
  ])('a pins file that holds %s', (_name, text) => {
    const ws = given();
    const file = join(ws.base, 'home/.config/writ/pins.yaml');
    writeFileSync(file, text);
    const checked = ws.check();
    hasFinding(checked.findings, 'state-unavailable');
    expect(only(checked, APPROVED)).toMatchObject({ rank: 'quarantined', disposition: 'withhold' });
    expect(only(checked, PLAIN).rank).toBe('reference');
    expect(checked.exit).toBe(4);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it.each([
    ['overwritten', (file: string) => writeFileSync(file, 'garbage '.repeat(1_000))],
    ['empty', (file: string) => writeFileSync(file, '')],
    ['cut in half', (file: string) => writeFileSync(file, readFileSync(file).subarray(0, 20_000))],
    ['gone', (file: string) => rmSync(file)],
    [
      'a folder',
      (file: string) => {
        rmSync(file);
        mkdirSync(file);
      },
    ],
  ])('a state file that is %s', (_name, harm) => {
    const ws = given();
    expect(ws.run(['load', '--format', 'none']).exit).toBe(0);
    harm(join(ws.base, 'home/.local/state/writ/writ.db'));
    expectNobodyProven(ws, 'state-unavailable', 4);
  });
});
