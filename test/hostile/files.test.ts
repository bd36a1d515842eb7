import { spawnSync } from 'node:child_process';
import { chmodSync, linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type Ran, Workspace } from '../support/workspace.ts';
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

function parsed(ran: Ran): Checked {
  expect(ran.stdout.startsWith('{'), `exit ${ran.exit}: ${ran.stderr}`).toBe(true);
  return { ...(JSON.parse(ran.stdout) as Checked), exit: ran.exit };
}

function unreadable(ws: Workspace, path = INIT): void {
  expectRefusal(ws.check(), { path, code: 'path-unreadable', rank: 'quarantined', exit: 4 });
}

describe('what is no readable file', () => {
  it('a file without read permission', () => {
    const ws = given();
    chmodSync(ws.put(INIT, 'Text.\n'), 0o000);
    const checked = parsed(ws.unprivileged(['check', '--format', 'json']));
    expectRefusal(checked, { path: INIT, code: 'path-unreadable', rank: 'quarantined', exit: 4 });
    expect(ws.unprivileged(['load', '--format', 'none']).exit).toBe(4);
    expect(ws.has(INIT)).toBe(true);
  });

  it('a folder without read permission', () => {
    const ws = given();
    ws.put('prompts/one.md', 'Text.\n');
    chmodSync(join(ws.root, 'prompts'), 0o000);
    const checked = parsed(ws.unprivileged(['check', '--format', 'json']));
    expect(hasFinding(checked.findings, 'discovery-incomplete').message).toContain('prompts');
    expectOthersJudged(checked);
    expect(checked.exit).toBe(4);
    chmodSync(join(ws.root, 'prompts'), 0o755);
  });

  it('a FIFO: it is not waited for', () => {
    const ws = given();
    spawnSync('mkfifo', [join(ws.root, INIT)]);
    const before = Date.now();
    unreadable(ws);
    expect(Date.now() - before).toBeLessThan(20_000);
  });

  it('a socket', async () => {
    const ws = given();
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(ws.root, INIT), resolve));
    unreadable(ws);
    server.close();
  });

  it('a folder where a file is expected', () => {
    const ws = given();
    mkdirSync(join(ws.root, INIT));
    unreadable(ws);
  });

  it('a link to itself, links in a circle, a link to nothing', () => {
    const ws = given();
    symlinkSync('SELF_INIT.md', join(ws.root, 'SELF_INIT.md'));
    symlinkSync('B_INIT.md', join(ws.root, 'A_INIT.md'));
    symlinkSync('A_INIT.md', join(ws.root, 'B_INIT.md'));
    symlinkSync('nowhere.md', join(ws.root, INIT));
    for (const path of ['SELF_INIT.md', 'A_INIT.md', 'B_INIT.md', INIT]) {
      const one = only(ws.check(), path);
      expect(one.rank).toBe('quarantined');
      hasFinding(one.findings, 'path-unreadable');
    }
    unreadable(ws);
    expect(ws.check().summary.unchecked).toBe(4);
  });

  it('a link to a folder above: the walk ends, and the names it makes take no file away', () => {
    const ws = given();
    mkdirSync(join(ws.root, 'prompts'));
    symlinkSync('..', join(ws.root, 'prompts', 'up'));
    const checked = ws.check();
    expect(checked.artifacts.length).toBeLessThan(20);
    expectRefusal(checked, {
      path: `prompts/up/${APPROVED}`,
      code: 'approval-stale',
      rank: 'quarantined',
      exit: 1,
    });
    const loaded = parsed(ws.run(['load', '--format', 'json']));
    expect(loaded.exit).toBe(1);
    expect(hasFinding(loaded.findings, 'quarantine-failed').message).toContain('link to a folder');
    expect(ws.has(APPROVED)).toBe(true);
    expectOthersJudged(loaded);
  });

  it('a link out of the workspace, to a file and to a device', () => {
    const ws = given();
    writeFileSync(join(ws.base, 'secret.txt'), 'secret\n');
    symlinkSync('../secret.txt', join(ws.root, INIT));
    symlinkSync('/dev/zero', join(ws.root, 'ZERO_INIT.md'));
    const checked = ws.check();
    expectRefusal(checked, { path: INIT, code: 'path-escapes-root', rank: 'quarantined', exit: 1 });
    hasFinding(only(checked, 'ZERO_INIT.md').findings, 'path-escapes-root');
    expect(ws.run(['load', '--format', 'none']).exit).toBe(1);
  });
});

describe('names that stand for another file', () => {
  it('an alias of an approved file is not approved, and taking it away leaves the file', () => {
    const ws = given();
    symlinkSync(APPROVED, join(ws.root, 'CLAUDE.md'));
    const checked = ws.check();
    const one = expectRefusal(checked, { path: 'CLAUDE.md', code: 'approval-stale', rank: 'quarantined', exit: 1 });
    hasFinding(one.findings, 'symlink-alias');
    expect(ws.run(['load', '--format', 'none']).exit).toBe(1);
    expect(ws.has('CLAUDE.md')).toBe(false);
    expect(ws.check(APPROVED).artifacts[0]?.rank).toBe('binding');
  });

  it('a second hard link to an approved file', () => {
    const ws = given();
    linkSync(join(ws.root, APPROVED), join(ws.root, 'elsewhere.txt'));
    const checked = ws.check();
    const one = only(checked, APPROVED);
    hasFinding(one.findings, 'hard-linked');
    expect(one.rank).toBe('advisory');
    expectOthersJudged(checked, APPROVED);
    expect(checked.exit).toBe(0);
  });

  it.each([
    ['a case twin', 'Agents.MD'],
    ['a Cyrillic look-alike', 'AGENT\u0405.md'],
    ['a full-width look-alike', '\uff23LAUDE.md'],
    ['a zero-width twin', 'AGENTS\u200b.md'],
  ])('%s of an init path', (_name, path) => {
    const ws = given();
    ws.put(path, '# Notes\n\nText.\n');
    const checked = ws.check();
    const found = checked.artifacts.filter((one) => one.findings.some((f) => f.code === 'path-confusable'));
    expect(found).toHaveLength(1);
    expect(found[0]?.rank).toBe('reference');
    hasFinding(found[0]?.findings ?? [], 'path-confusable');
    expectOthersJudged(checked);
    expect(checked.exit).toBe(0);
  });

  it('an approved file copied to another path: the copy is neither approved nor does it lower the first', () => {
    const ws = given();
    ws.put('COPY_INIT.md', ws.read(APPROVED));
    const checked = ws.check();
    const one = expectRefusal(checked, { path: 'COPY_INIT.md', code: 'approval-stale', rank: 'quarantined', exit: 1 });
    hasFinding(one.findings, 'artifact-id-duplicate');
  });

  it('a file in a dependency that calls itself approved', () => {
    const ws = given();
    ws.put(`node_modules/kit/${APPROVED}`, ws.read(APPROVED));
    const checked = ws.check();
    const one = only(checked, `node_modules/kit/${APPROVED}`);
    hasFinding(one.findings, 'nested-repository');
    expect(one.disposition).toBe('withhold');
    expect(one.rank).toBe('quarantined');
    expectOthersJudged(checked);
    expect(ws.run(['load', '--format', 'none']).exit).toBe(1);
    expect(ws.has(`node_modules/kit/${APPROVED}`)).toBe(true);
  });
});

describe('names made to harm whoever prints them', () => {
  const NAMES = [
    ['a newline', 'one\ntwo_INIT.md'],
    ['quotes', `say "it's"_INIT.md`],
    ['a shell command', '$(touch pwned)`touch pwned`;_INIT.md'],
    ['ANSI colours', 'red\u001b[31m_INIT.md'],
    ['a bidi override', 'abc\u202etxt_INIT.md'],
    ['a leading dash', '--help_INIT.md'],
    ['240 characters', `${'n'.repeat(232)}_INIT.md`],
  ] as const;

  it('each is judged, escaped wherever it is shown, moved and listed', () => {
    const ws = given();
    for (const [, name] of NAMES) ws.put(name, Buffer.from([0x00, 0xff]));
    const checked = ws.check();
    const strange = checked.artifacts.filter((one) => one.findings.some((found) => found.code === 'not-text'));
    expect(strange).toHaveLength(NAMES.length);
    for (const one of strange) expect(one.rank).toBe('quarantined');
    expectOthersJudged(checked);
    expect(checked.exit).toBe(1);
    const text = ws.run(['check']);
    const loaded = ws.run(['load', '--format', 'text']);
    const listed = ws.run(['quarantine', 'list']);
    for (const { stdout, stderr } of [text, loaded, listed])
      expect(`${stdout}${stderr}`).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f\u202e]/);
    expect(text.exit).toBe(1);
    expect(loaded.exit).toBe(1);
    for (const [, name] of NAMES) expect(ws.has(name), name).toBe(false);
    expect(ws.has('pwned')).toBe(false);
    const held = JSON.parse(ws.run(['quarantine', 'list', '--format', 'json']).stdout) as { id: string }[];
    expect(held).toHaveLength(NAMES.length);
    for (const { id } of held) expect(ws.run(['quarantine', 'show', id]).exit).toBe(0);
  });

  it('a name that is no UTF-8', () => {
    const ws = given();
    writeFileSync(
      Buffer.concat([Buffer.from(`${ws.root}/bad`), Buffer.from([0xff, 0xfe]), Buffer.from('_INIT.md')]),
      'Text.\n',
    );
    const checked = ws.check();
    expectOthersJudged(checked);
    const strange = checked.artifacts.filter((one) => one.path.startsWith('bad'));
    expect(strange.length + checked.findings.filter((one) => one.code === 'discovery-incomplete').length).toBe(1);
    expect(checked.exit).toBe(4);
  });

  it.each([
    ['a path above', '../x.md'],
    ['a path with NUL', 'a\u0000b'],
    ['nothing', ''],
  ])('a PATH argument that names %s', (_name, path) => {
    const ws = given();
    if (path.includes('\0')) return;
    const ran = ws.run(['check', path]);
    expect(ran.exit).toBe(3);
    expect(ran.stdout).toBe('');
    expect(ran.stderr.length).toBeGreaterThan(20);
  });

  it('a PATH argument that is not there', () => {
    const ws = given();
    const ran = ws.run(['check', '--format', 'json', 'not-there.md']);
    expectNoVerdictFor(parsed(ran), 'not-there.md');
    expect(ran.exit).toBe(4);
  });

  function expectNoVerdictFor(checked: Checked, path: string): void {
    const one = only(checked, path);
    hasFinding(one.findings, 'path-unreadable');
    expect(one.rank).toBe('quarantined');
  }
});

describe('where nothing can be written', () => {
  it('a read-only workspace: what is refused stays, withheld, and load says so', () => {
    const ws = given();
    ws.put(INIT, Buffer.from([0, 1, 2]));
    chmodSync(ws.root, 0o555);
    const ran = ws.unprivileged(['load', '--format', 'json']);
    chmodSync(ws.root, 0o755);
    const checked = parsed(ran);
    expectRefusal(checked, { path: INIT, code: 'not-text', rank: 'quarantined', exit: 1 });
    hasFinding(checked.findings, 'quarantine-failed');
    expect(checked.quarantine).toEqual([{ path: INIT, id: null, moved: false }]);
    expect(ws.has(INIT)).toBe(true);
    expect(ran.stdout).not.toContain('\\u0000');
  });

  it('a state and config folder on a full disk: nothing binds, exit 4, nothing half-written', () => {
    const ws = given();
    const before = readdirSync(ws.root).sort();
    const ran = ws.shell('ulimit -f 0; eval exec $WRIT load --format json');
    expect(ran.exit, ran.stderr).toBe(4);
    const checked = parsed(ran);
    hasFinding(checked.findings, 'state-unavailable');
    expect(checked.summary.binding).toBe(0);
    expect(only(checked, PLAIN).rank).toBe('reference');
    expect(readdirSync(ws.root).sort()).toEqual(before);
    expect(ws.check().exit).toBe(0);
    expect(ws.run(['load', '--format', 'none']).exit).toBe(0);
  });

  it('a config folder that cannot be written: nothing binds at load, check works on', () => {
    const ws = given();
    const config = join(ws.base, 'home/.config/writ');
    expect(ws.unprivileged(['check']).exit).toBe(0);
    chmodSync(config, 0o555);
    const loaded = ws.unprivileged(['load', '--format', 'json']);
    expect(loaded.exit, loaded.stderr).toBe(4);
    expect(hasFinding(parsed(loaded).findings, 'state-unavailable').message).toContain('pins');
    expect(parsed(loaded).summary.binding).toBe(0);
    const checked = parsed(ws.unprivileged(['check', '--format', 'json']));
    expectOthersJudged(checked);
    expect(checked.exit).toBe(0);
    chmodSync(config, 0o755);
  });

  it('a config folder that is a file: nothing is set up, and nothing is left half-made', () => {
    const ws = new Workspace();
    writeFileSync(join(ws.base, 'no-folder'), '');
    const made = ws.run(['init', '--workspace', 'example.test/acme/new', '--key', ws.key('f13'), '--yes'], {
      env: { WRIT_CONFIG: join(ws.base, 'no-folder') },
    });
    expect([3, 4], made.stderr).toContain(made.exit);
    expect(made.stderr.length).toBeGreaterThan(20);
    expect(made.stderr).not.toContain('internal error');
    const again = ws.run(['init', '--workspace', 'example.test/acme/new', '--key', ws.key('f13'), '--yes']);
    expect(again.exit, again.stderr).toBe(0);
    ws.remove();
  });

  it('a state folder that is a file', () => {
    const ws = given();
    writeFileSync(join(ws.base, 'no-folder'), '');
    const checked = parsed(ws.run(['load', '--format', 'json'], { env: { WRIT_STATE: join(ws.base, 'no-folder') } }));
    hasFinding(checked.findings, 'state-unavailable');
    expect(only(checked, APPROVED)).toMatchObject({ rank: 'quarantined', disposition: 'withhold' });
    expect(only(checked, PLAIN).rank).toBe('reference');
    expect(checked.exit).toBe(4);
  });
});

describe('many files', () => {
  const fill = (ws: Workspace, count: number): void => {
    mkdirSync(join(ws.root, 'prompts'));
    for (let at = 0; at < count; at += 1) writeFileSync(join(ws.root, 'prompts', `p${at}.md`), 'Text.\n');
  };

  it('20,001 in one folder are judged up to the limit, which is told; a slow pipe gets all of it', () => {
    const ws = given();
    fill(ws, 20_001);
    const ran = ws.shell('(eval $WRIT check --format json; echo $? > ../exit) | (sleep 1; cat)');
    expect(ran.stdout.length).toBeGreaterThan(1_000_000);
    const checked = JSON.parse(ran.stdout) as Checked;
    expect(checked.artifacts.length).toBeGreaterThanOrEqual(20_000);
    expect(hasFinding(checked.findings, 'discovery-incomplete').message).toContain('20000');
    expectOthersJudged(checked);
    expect(readFileSync(join(ws.base, 'exit'), 'utf8').trim()).toBe('4');
  }, 180_000);

  it('a reader that takes one line is no error of ours', () => {
    const ws = given();
    fill(ws, 1_500);
    const head = ws.shell('eval $WRIT check --verbose | head -1');
    expect(head.exit).toBe(0);
    expect(head.stdout.split('\n')).toHaveLength(2);
    expect(head.stderr).toBe('');
  });
});
