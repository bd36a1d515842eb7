import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codes, type Verdicts, type Workspace } from '../support/workspace.ts';
import { only } from './attack.ts';
import { configOf, copyOf, govern, governed, honest, keyOf, lay, resign, revoke, stateOf } from './forge.ts';

const POLICY = 'prompts/policy.md';

/** Attacks on who decides: each on a copy of one governed workspace with an honest policy in it. */
describe('the policy set', () => {
  let template: Workspace;
  const open: Workspace[] = [];
  beforeAll(async () => {
    template = await governed();
    await honest(template, POLICY);
    open.push(template);
  });
  afterAll(() => {
    for (const ws of open) ws.remove();
  });

  function fresh(): Workspace {
    const ws = copyOf(template);
    open.push(ws);
    return ws;
  }

  /** Nobody is proven any more: the policy does not bind, is not moved, and the set says why. */
  function refused(ws: Workspace, code: string, root = 'pinned'): Verdicts & { readonly exit: number } {
    const seen = ws.check();
    expect(seen.findings.map((one) => one.code)).toContain(code);
    expect(seen.workspace.root).toBe(root);
    expect(seen.summary.binding).toBe(0);
    expect(seen.summary.advisory).toBe(0);
    const policy = only(seen.artifacts, POLICY);
    expect(policy.rank).toBe('quarantined');
    expect(policy.disposition).toBe('withhold');
    expect(seen.exit).not.toBe(0);
    return seen;
  }

  it('policy.yaml loosened by hand', () => {
    const ws = fresh();
    ws.put('policies/policy.yaml', ws.read('policies/policy.yaml').replace('spec: specialist', 'spec: sovereign'));
    refused(ws, 'policy-altered');
    ws.run(['load', '--format', 'none']);
    expect(ws.has(POLICY)).toBe(true);
  });

  it('an edit by hand does not ride along when the root signs something of its own', () => {
    const ws = fresh();
    const good = ws.read('policies/policy.yaml');
    const spoil: readonly (readonly [string, string])[] = [
      ['policies/policy.yaml', good.replace('spec: specialist', 'spec: sovereign')],
      ['policies/constitution.md', '# Constitution\n\nObey spec.\n'],
      ['policies/exceptions.yaml', '[]\n'],
      ['policies/rules/off.yaml', 'id: off\n'],
    ];
    for (const [path, text] of spoil) {
      const old = ws.has(path) ? ws.read(path) : null;
      const set = ws.read('policies/policy.dsse.json');
      ws.put(path, text);
      const added = ws.as('f13', ['trust', 'add', 'new', '--role', 'specialist', '--pub', `${ws.key('new')}.pub`]);
      expect(added.exit, path).not.toBe(0);
      expect(added.stderr).toContain(path);
      expect(ws.read('policies/policy.dsse.json')).toBe(set);
      if (old === null) rmSync(join(ws.root, path));
      else ws.put(path, old);
    }
    ws.put('policies/policy.yaml', good.replace('spec: specialist', 'spec: sovereign'));
    const waive = ['waive', 'manifest-missing', 'AGENTS.md', '--owner', 'f13', '--reason', 'x', '--until', '30d'];
    for (const args of [['trust', 'rotate', '--to', ws.key('next')], ['trust', 'remove', 'lead2'], waive])
      expect(ws.as('f13', args).exit, args.join(' ')).not.toBe(0);
    ws.put('policies/policy.yaml', good);
    expect(only(ws.check().artifacts, POLICY).rank).toBe('binding');
    ws.put('policies/policy.yaml', `${good}unmanifested: quarantined\n`);
    expect(ws.as('f13', ['trust', 'sign']).exit).toBe(0);
    expect(only(ws.check().artifacts, POLICY).rank).toBe('binding');
  });

  it('a repo makes its own author approver and turns things off (incident 20)', () => {
    const ws = fresh();
    ws.put('policies/policy.yaml', `${ws.read('policies/policy.yaml')}  mallory: approver\nenforcement: observe\n`);
    refused(ws, 'policy-altered');
  });

  it('exceptions.yaml added by hand excepts nothing', () => {
    const ws = fresh();
    ws.put('AGENTS.md', '# Rules\n');
    ws.put(
      'policies/exceptions.yaml',
      `- {code: manifest-missing, path: AGENTS.md, owner: f13, reason: x, until: "${new Date(Date.now() + 8.64e7).toISOString()}"}\n`,
    );
    const seen = ws.check();
    expect(only(seen.artifacts, 'AGENTS.md').findings.find((one) => one.code === 'manifest-missing')?.relief).toBe(
      undefined,
    );
    expect(only(seen.artifacts, 'AGENTS.md').rank).toBe('reference');
  });

  it('a key line added to allowed_signers by hand', async () => {
    const ws = fresh();
    const { publicKey } = await keyOf(ws, 'mallory');
    ws.put(
      'policies/allowed_signers',
      `${ws.read('policies/allowed_signers')}f13 namespaces="writ" ${publicKey.line}\n`,
    );
    refused(ws, 'policy-altered');
  });

  it('a * line in allowed_signers, even signed by the root, is refused by the signer and by the loader', async () => {
    const ws = fresh();
    const { publicKey } = await keyOf(ws, 'mallory');
    ws.put('policies/allowed_signers', `${ws.read('policies/allowed_signers')}* ${publicKey.line}\n`);
    refused(ws, 'policy-altered');
    await expect(resign(ws)).rejects.toThrow('allowed_signers');
    const ran = ws.as('f13', ['trust', 'sign']);
    expect(ran.exit).toBe(3);
  });

  it('a principal whose name is a pattern is refused', async () => {
    const ws = fresh();
    ws.put('policies/policy.yaml', ws.read('policies/policy.yaml').replace('  spec: specialist', '  "*": sovereign'));
    await expect(resign(ws)).rejects.toThrow('policy.yaml');
  });

  it('policy.yaml replaced by a link', () => {
    const ws = fresh();
    renameSync(join(ws.root, 'policies/policy.yaml'), join(ws.root, 'policies/real.yaml'));
    symlinkSync('real.yaml', join(ws.root, 'policies/policy.yaml'));
    refused(ws, 'policy-altered');
  });

  it('policies/ replaced by a link out of the workspace', () => {
    const ws = fresh();
    renameSync(join(ws.root, 'policies'), join(ws.base, 'policies'));
    symlinkSync('../policies', join(ws.root, 'policies'));
    refused(ws, 'root-unpinned', 'unpinned');
  });

  it('the set signed anew by another key, which the repo names as its root', async () => {
    const ws = fresh();
    ws.put('policies/policy.yaml', ws.read('policies/policy.yaml').replace('  spec: specialist', '  spec: sovereign'));
    await resign(ws, { by: 'spec' });
    refused(ws, 'root-mismatch', 'mismatch');
  });

  it('the set signed anew for another workspace id, unknown here', async () => {
    const ws = fresh();
    rmSync(join(ws.root, 'policies'), { recursive: true });
    const other = await governed({ id: 'example.test/evil/app' });
    open.push(other);
    cpSync(join(other.root, 'policies'), join(ws.root, 'policies'), { recursive: true });
    refused(ws, 'root-unpinned', 'unpinned');
  });

  it('the signature of the set garbled, cut off and taken away', () => {
    const ws = fresh();
    const text = ws.read('policies/policy.dsse.json');
    ws.put('policies/policy.dsse.json', text.slice(0, -40));
    refused(ws, 'policy-unsigned', 'unpinned');
    rmSync(join(ws.root, 'policies/policy.dsse.json'));
    refused(ws, 'root-unpinned', 'unpinned');
  });

  it('the policies of another repo that is pinned here, copied in after a load', async () => {
    const ws = fresh();
    expect(ws.run(['load', '--format', 'none']).exit).toBe(0);
    const other = await governed({ id: 'example.test/other/app' });
    open.push(other);
    await honest(other, POLICY, { content: '# Another law\n' });
    other.env.HOME = ws.env.HOME ?? '';
    await govern(other, { id: 'example.test/other/app' });
    for (const folder of ['policies', 'prompts']) {
      rmSync(join(ws.root, folder), { recursive: true });
      cpSync(join(other.root, folder), join(ws.root, folder), { recursive: true });
    }
    refused(ws, 'root-mismatch', 'mismatch');
  });

  it('the same, with .git taken away so that the checkout is not known again', async () => {
    const ws = fresh();
    ws.git('init', '-q', '-b', 'main', '.');
    expect(ws.run(['load', '--format', 'none']).exit).toBe(0);
    const other = await governed({ id: 'example.test/other/app' });
    open.push(other);
    other.env.HOME = ws.env.HOME ?? '';
    await govern(other, { id: 'example.test/other/app' });
    rmSync(join(ws.root, '.git'), { recursive: true });
    rmSync(join(ws.root, 'policies'), { recursive: true });
    cpSync(join(other.root, 'policies'), join(ws.root, 'policies'), { recursive: true });
    refused(ws, 'root-mismatch', 'mismatch');
  });

  it('the same, with a .git file that leads to the other clone', async () => {
    const ws = fresh();
    ws.git('init', '-q', '-b', 'main', '.');
    expect(ws.run(['load', '--format', 'none']).exit).toBe(0);
    const other = await governed({ id: 'example.test/other/app' });
    open.push(other);
    other.env.HOME = ws.env.HOME ?? '';
    await govern(other, { id: 'example.test/other/app' });
    other.git('init', '-q', '-b', 'main', '.');
    expect(other.run(['load', '--format', 'none']).exit).toBe(0);
    rmSync(join(ws.root, '.git'), { recursive: true });
    writeFileSync(join(ws.root, '.git'), `gitdir: ${join(other.root, '.git')}\n`);
    rmSync(join(ws.root, 'policies'), { recursive: true });
    cpSync(join(other.root, 'policies'), join(ws.root, 'policies'), { recursive: true });
    refused(ws, 'root-mismatch', 'mismatch');
  });

  it.each([
    ['approvals', 'a file', (path: string) => writeFileSync(path, '')],
    ['authorship', 'a file', (path: string) => writeFileSync(path, '')],
    ['spawns', 'a link to itself', (path: string) => symlinkSync('spawns', path)],
    ['revocations', 'a link to nothing', (path: string) => symlinkSync('nowhere', path)],
  ])('%s made %s: it could not be checked, and nothing is moved', (folder, _how, make) => {
    const ws = fresh();
    const path = join(ws.root, 'policies', folder);
    rmSync(path, { recursive: true, force: true });
    make(path);
    const seen = refused(ws, 'proofs-unreadable');
    if (folder !== 'revocations') expect(seen.exit).toBe(4);
    ws.run(['load', '--format', 'none']);
    expect(ws.has(POLICY)).toBe(true);
  });

  it('an empty .git planted beside a policy takes it out of nothing', () => {
    const ws = fresh();
    mkdirSync(join(ws.root, 'prompts', '.git'));
    expect(only(ws.check().artifacts, POLICY).rank).toBe('binding');
    ws.put('prompts/.git/HEAD', 'ref: refs/heads/main\n');
    expect(codes(only(ws.check().artifacts, POLICY))).toContain('nested-repository');
  });

  it('an old set above the floor still judges, one below it does not', async () => {
    const ws = fresh();
    const files = ['policy.yaml', 'policy.dsse.json'];
    const old = files.map((name) => ws.read(`policies/${name}`));
    ws.put('policies/policy.yaml', `${ws.read('policies/policy.yaml')}unmanifested: quarantined\n`);
    await resign(ws);
    ws.run(['load', '--format', 'none']);
    for (const [index, name] of files.entries()) ws.put(`policies/${name}`, old[index] ?? '');
    expect(only(ws.check().artifacts, POLICY).rank).toBe('binding');
    ws.put('policies/policy.yaml', `${ws.read('policies/policy.yaml')}unmanifested: quarantined\n`);
    await resign(ws, { raiseFloor: true });
    ws.run(['load', '--format', 'none']);
    for (const [index, name] of files.entries()) ws.put(`policies/${name}`, old[index] ?? '');
    refused(ws, 'policy-below-floor');
  });

  it('a revocation deleted that the set lists', async () => {
    const ws = fresh();
    const piece = await honest(ws, 'prompts/bad.md');
    const file = await revoke(ws, 'lead', { artifactId: piece.manifest.artifactId });
    await resign(ws);
    expect(codes(only(ws.check().artifacts, 'prompts/bad.md'))).toContain('revoked');
    rmSync(join(ws.root, file));
    const seen = refused(ws, 'revocation-missing');
    expect(seen.exit).toBe(1);
    expect(only(seen.artifacts, 'prompts/bad.md').rank).toBe('quarantined');
  });

  it('a revocation deleted that only the state of this machine knows', async () => {
    const ws = fresh();
    const piece = await honest(ws, 'prompts/bad.md');
    const file = await revoke(ws, 'lead', { artifactId: piece.manifest.artifactId });
    const text = ws.read('prompts/bad.md');
    ws.run(['load', '--format', 'none']);
    expect(ws.has('prompts/bad.md')).toBe(false);
    rmSync(join(ws.root, file));
    ws.put('prompts/bad.md', text);
    ws.put('prompts/bad.md.manifest.yaml', (await lay(ws, 'scratch.md')) && ws.read('scratch.md.manifest.yaml'));
    const seen = refused(ws, 'revocation-missing');
    expect(seen.exit).toBe(1);
  });

  it('the folder of revocations replaced by a file', async () => {
    const ws = fresh();
    const piece = await honest(ws, 'prompts/bad.md');
    await revoke(ws, 'lead', { artifactId: piece.manifest.artifactId });
    await resign(ws);
    rmSync(join(ws.root, 'policies/revocations'), { recursive: true });
    ws.put('policies/revocations', 'none');
    refused(ws, 'revocation-missing');
  });

  it('a constitution changed by one byte', () => {
    const ws = fresh();
    ws.put('policies/constitution.md', `${ws.read('policies/constitution.md')}\n`);
    const seen = refused(ws, 'policy-altered');
    expect(only(seen.artifacts, POLICY).rank).toBe('quarantined');
  });

  it('a repo that ships its own pins, state and settings', () => {
    const ws = fresh();
    rmSync(join(configOf(ws), 'pins.yaml'));
    const pins = template.env.HOME ?? '';
    mkdirSync(join(ws.root, '.config/writ'), { recursive: true });
    cpSync(join(pins, '.config/writ/pins.yaml'), join(ws.root, '.config/writ/pins.yaml'));
    cpSync(join(pins, '.config/writ/pins.yaml'), join(ws.root, 'pins.yaml'));
    cpSync(join(pins, '.config/writ/pins.yaml'), join(ws.root, 'policies/pins.yaml'));
    refused(ws, 'root-unpinned', 'unpinned');
  });

  it('WRIT_CONFIG, XDG_CONFIG_HOME, WRIT_STATE and XDG_STATE_HOME inside the workspace: exit 3', () => {
    const ws = fresh();
    symlinkSync(ws.root, join(ws.base, 'outside'));
    for (const env of [
      { WRIT_CONFIG: join(ws.root, '.config') },
      { WRIT_CONFIG: '.config' },
      { WRIT_CONFIG: join(ws.base, 'outside/config') },
      { XDG_CONFIG_HOME: join(ws.root, '.config') },
      { WRIT_STATE: join(ws.root, 'writ.db') },
      { WRIT_STATE: 'state/writ.db' },
      { XDG_STATE_HOME: ws.root },
    ])
      expect(ws.run(['check'], { env }).exit, JSON.stringify(env)).toBe(3);
  });

  it('WRIT_ROOT does not stand against an existing pin, and counts where there is none', async () => {
    const ws = fresh();
    ws.put('policies/policy.yaml', ws.read('policies/policy.yaml').replace('  spec: specialist', '  spec: sovereign'));
    await resign(ws, { by: 'spec' });
    const { publicKey } = await keyOf(ws, 'spec');
    const env = { WRIT_ROOT: `example.test/acme/app=${publicKey.fingerprint}` };
    const pinned = JSON.parse(ws.run(['check', '--format', 'json'], { env }).stdout) as Verdicts;
    expect(pinned.workspace.root).toBe('mismatch');
    rmSync(join(configOf(ws), 'pins.yaml'));
    const free = JSON.parse(ws.run(['check', '--format', 'json'], { env }).stdout) as Verdicts;
    expect(free.workspace.root).not.toBe('unpinned');
    expect(ws.run(['check'], { env: { WRIT_ROOT: 'nonsense' } }).exit).not.toBe(0);
  });

  it('a rule file the set does not list is told and not used', () => {
    const ws = fresh();
    ws.put('policies/rules/off.yaml', 'id: off\n');
    expect(ws.check().findings.map((one) => one.code)).toContain('policy-file-unlisted');
    expect(only(ws.check().artifacts, POLICY).rank).toBe('binding');
  });

  it('a second policy set in another folder is not taken instead', async () => {
    const ws = fresh();
    const other = await governed({ id: 'example.test/evil/app' });
    open.push(other);
    cpSync(join(other.root, 'policies'), join(ws.root, 'governance-2'), { recursive: true });
    expect(only(ws.check().artifacts, POLICY).rank).toBe('binding');
    rmSync(join(ws.root, 'policies/policy.dsse.json'));
    refused(ws, 'root-unpinned', 'unpinned');
  });

  it('pins that cannot be read: exit 4 and nothing binds', () => {
    const ws = fresh();
    writeFileSync(join(configOf(ws), 'pins.yaml'), 'version: 1\npins: [{');
    expect(refused(ws, 'state-unavailable', 'unpinned').exit).toBeGreaterThan(0);
  });

  it('the state file corrupted, cut short and deleted after a load', () => {
    const ws = fresh();
    ws.run(['load', '--format', 'none']);
    ws.run(['load', '--format', 'none']);
    const file = stateOf(ws);
    cpSync(file, `${file}.good`);
    writeFileSync(file, 'not a database');
    refused(ws, 'state-unavailable');
    for (const name of readdirSync(join(file, '..'))) if (name !== 'writ.db.good') rmSync(join(file, '..', name));
    const gone = refused(ws, 'state-unavailable');
    expect(gone.findings.some((one) => one.code === 'state-unavailable')).toBe(true);
    ws.run(['load', '--format', 'none']);
    expect(ws.has(POLICY)).toBe(true);
    refused(ws, 'state-unavailable');
  });

  it('the clock set back behind the last time seen here', () => {
    const ws = fresh();
    const file = join(configOf(ws), 'pins.yaml');
    ws.run(['load', '--format', 'none']);
    const pins = ws.run(['trust', 'show']).stdout;
    expect(pins).not.toBe('');
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace(/seen: "[^"]+"/, `seen: "${new Date(Date.now() + 5 * 8.64e7).toISOString()}"`));
    refused(ws, 'state-unavailable');
  });
});
