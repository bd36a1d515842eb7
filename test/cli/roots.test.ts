import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Workspace } from '../support/workspace.ts';

/** The root is lost or stolen: issue "From one repo to two hundred", item 2. Clones meet what happens in different order. */
describe('roots', () => {
  const opened: Workspace[] = [];
  let home: Workspace;
  let first: string;

  /** Takes over everything of another checkout, as a pull would. */
  const pull = (to: Workspace, from: Workspace): void => {
    rmSync(to.root, { recursive: true, force: true });
    cpSync(from.root, to.root, { recursive: true });
  };
  const clone = (): Workspace => {
    const made = new Workspace();
    opened.push(made);
    pull(made, home);
    const pinned = made.run(['trust', 'pin', '--fingerprint', first]);
    if (pinned.exit !== 0) throw new Error(pinned.stderr);
    return made;
  };
  const as = (ws: Workspace, name: string, args: readonly string[]) =>
    ws.run(args, { env: { WRIT_AS: 'f13', WRIT_KEY: home.key(name) } });
  const must = (ws: Workspace, name: string, args: readonly string[]): void => {
    const ran = as(ws, name, args);
    if (ran.exit !== 0) throw new Error(`${args.join(' ')} as ${name}: ${ran.exit} ${ran.stderr}`);
  };
  const rotate = (ws: Workspace, by: string, to: string): void =>
    must(ws, by, ['trust', 'rotate', '--to', home.key(to)]);
  const load = (ws: Workspace): number => ws.run(['load', '--format', 'none']).exit;
  const binds = (ws: Workspace): boolean => ws.verdict('AGENTS.md').rank === 'binding';
  const fingerprint = (ws: Workspace): string =>
    JSON.parse(ws.run(['trust', 'show', '--format', 'json']).stdout).roots[0];

  beforeEach(() => {
    home = new Workspace();
    opened.push(home);
    home.key('recovery');
    home.must('f13', [
      'init',
      '--workspace',
      'example.test/acme/app',
      '--recovery',
      `${home.key('recovery')}.pub`,
      '--yes',
    ]);
    home.put('AGENTS.md', '# Rules\n');
    home.must('f13', ['approve', 'AGENTS.md', '--class', 'policy', '--yes']);
    first = fingerprint(home);
  });
  afterEach(() => {
    for (const one of opened.splice(0)) one.remove();
  });

  it('lost: the recovery key hands the root on, and every clone follows, however late', { timeout: 240_000 }, () => {
    const [early, late] = [clone(), clone()];
    expect([load(early), load(late)]).toEqual([0, 0]);
    rotate(home, 'recovery', 'second');
    const second = fingerprint(home);
    expect(second).not.toBe(first);
    pull(early, home);
    expect([load(early), binds(early)]).toEqual([0, true]);
    // Another rotation, in the usual way, before the last clone sees any of it.
    rotate(home, 'second', 'third');
    pull(late, home);
    expect([load(late), binds(late), fingerprint(late)]).toEqual([0, true, fingerprint(home)]);
    pull(early, home);
    expect([load(early), binds(early)]).toEqual([0, true]);
    // The lost key, found again, is a root no more.
    expect(as(early, 'f13', ['trust', 'sign', '--yes']).exit).toBe(1);
  });

  it('stolen: what the thief signs is taken back, also where it was loaded', { timeout: 240_000 }, () => {
    const [taken, away, thief] = [clone(), clone(), clone()];
    expect([load(taken), load(away)]).toEqual([0, 0]);
    const files = ['policies/policy.yaml', 'policies/allowed_signers', 'AGENTS.md', 'AGENTS.md.manifest.yaml'];
    const good = files.map((path) => home.read(path));
    rotate(thief, 'f13', 'evil');
    thief.put('AGENTS.md', '# Obey\n');
    must(thief, 'evil', ['approve', 'AGENTS.md', '--class', 'policy', '--yes']);
    pull(taken, thief);
    // Nothing can tell a stolen key from its owner.
    expect([load(taken), binds(taken)]).toEqual([0, true]);

    pull(home, thief);
    for (const [index, path] of files.entries()) home.put(path, good[index] ?? '');
    rotate(home, 'recovery', 'second');
    pull(taken, home);
    pull(away, home);
    for (const one of [taken, away])
      expect([load(one), binds(one), fingerprint(one)]).toEqual([0, true, fingerprint(home)]);
    for (const one of [taken, away, home])
      expect(JSON.parse(one.run(['trust', 'show', '--format', 'json']).stdout)).toMatchObject({
        root: 'pinned',
        intact: true,
      });

    // The thief goes on: a higher version under his root, then without the recovery in the archive.
    must(thief, 'evil', ['trust', 'sign', '--raise-floor', '--yes']);
    must(thief, 'evil', ['trust', 'sign', '--raise-floor', '--yes']);
    for (const one of [taken, away]) {
      pull(one, thief);
      expect([load(one), binds(one)]).toEqual([1, false]);
    }
  });

  it('a thief cannot name another recovery key for clones that know the first', { timeout: 240_000 }, () => {
    const taken = clone();
    load(taken);
    const pins = join(taken.env.HOME ?? '', '.config/writ/pins.yaml');
    const known = /recovery: "(.*)"/.exec(readFileSync(pins, 'utf8'))?.[1];
    expect(known).toMatch(/^SHA256:/);
    rotate(home, 'f13', 'evil');
    pull(taken, home);
    load(taken);
    expect(/recovery: "(.*)"/.exec(readFileSync(pins, 'utf8'))?.[1]).toBe(known);
  });

  it('an old recovery does not hand the root back', { timeout: 240_000 }, () => {
    const other = clone();
    load(other);
    rotate(home, 'recovery', 'second');
    pull(other, home);
    load(other);
    const old = new Workspace();
    opened.push(old);
    pull(old, home);
    rotate(home, 'recovery', 'third');
    pull(other, home);
    expect([load(other), binds(other)]).toEqual([0, true]);
    // The key of the second root is stolen: its set, and the recovery that made it root.
    pull(other, old);
    expect([load(other), binds(other)]).toEqual([1, false]);
  });

  it('a recovery without the new root, and a recovery key nobody pinned, hand nothing on', { timeout: 240_000 }, () => {
    const other = clone();
    load(other);
    const pins = join(other.env.HOME ?? '', '.config/writ/pins.yaml');
    rotate(home, 'recovery', 'second');
    writeFileSync(pins, readFileSync(pins, 'utf8').replace(/^ *recovery: .*\n/m, ''));
    pull(other, home);
    expect([load(other), binds(other)]).toEqual([1, false]);
    expect(as(other, 'recovery', ['trust', 'rotate', '--to', home.key('mine')]).exit).toBe(1);
    expect(as(home, 'recovery', ['trust', 'sign', '--yes']).exit).toBe(1);
    expect(as(home, 'recovery', ['approve', 'AGENTS.md', '--yes']).exit).toBe(1);
  });

  it('WRIT_MIN_VERSION: a CI that remembers nothing refuses an older set', () => {
    const bare = { HOME: join(home.base, 'bare'), WRIT_ROOT: `example.test/acme/app=${first}` };
    const check = (least: string) =>
      home.run(['check', '--format', 'json'], { env: { ...bare, WRIT_MIN_VERSION: least } });
    expect(check('1').stdout).toContain('"rank": "binding"');
    expect([check('2').exit, check('2').stdout]).toEqual([1, expect.stringContaining('policy-below-floor')]);
    for (const wrong of ['0', '1.5', 'x', '-1', '1x', '99999999999']) expect(check(wrong).exit, wrong).toBe(3);
  });
});
