import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { execIn, FAKE_HOST, startExec } from '../support/exec.ts';
import { Workspace } from '../support/workspace.ts';

const opened: Workspace[] = [];
afterEach(() => {
  for (const one of opened.splice(0)) one.remove();
});

function plain(): Workspace {
  const space = new Workspace();
  opened.push(space);
  return space;
}

/** f13 sovereign, lead approver, orch orchestrator, spec specialist; worker spawned. */
function governed(): Workspace {
  return plain().govern();
}

function left(space: Workspace): readonly string[] {
  return readdirSync(space.base).filter((name) => name.startsWith('writ-exec-'));
}

const record = 'policies/spawns/kid.dsse.json';
const hasPython = spawnSync('python3', ['--version']).error === undefined;
const SPAWN = ['--spawn', 'kid', '--role', 'specialist'];

function parent(space: Workspace, name = 'orch'): Record<string, string> {
  return { WRIT_AS: name, WRIT_KEY: space.key(name) };
}

const WRIT = `"${process.execPath}" "${join(import.meta.dirname, '..', '..', 'dist', 'writ.cjs')}"`;

describe('signals and ends', () => {
  it.each(['SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const)(
    '%s reaches the child, once',
    async (signal) => {
      const space = plain();
      const run = startExec(space, 'generic');
      await run.given();
      process.kill(run.pid, signal);
      await run.until(({ signals }) => signals.length > 0);
      process.kill(run.pid, 'SIGTERM');
      const { code } = await run.ended;
      const { signals } = JSON.parse(readFileSync(join(space.base, 'given.json'), 'utf8'));
      expect([code, signals]).toEqual([7, [signal, 'SIGTERM']]);
      expect(left(space)).toEqual([]);
    },
  );

  it.each([
    ['SIGTERM', 143],
    ['SIGKILL', 137],
    ['SIGINT', 130],
  ] as const)('a child that %s ends gives %i', (signal, exit) => {
    const space = plain();
    expect(execIn(space, 'claude-code', { env: { FAKE_DO: `kill ${signal}` } }).exit).toBe(exit);
    expect(left(space)).toEqual([]);
  });

  it.each([0, 1, 2, 3, 4, 127, 255])('exit code %i passes through', (code) => {
    expect(execIn(plain(), 'generic', { env: { FAKE_DO: `exit ${code}` } }).exit).toBe(code);
  });

  it.skipIf(!hasPython)('hands on the terminal, and what its keys send arrives once', () => {
    const space = plain();
    const out = join(space.base, 'given.json');
    const host = `FAKE_DO=wait FAKE_OUT='${out}' ${WRIT} exec --host generic -- '${FAKE_HOST}'`;
    const keys = `import json,os,pty,sys,time
pid,fd=pty.fork()
if pid==0:
  os.execvp('sh',['sh','-c',sys.argv[1]])
def until(n):
  for _ in range(600):
    try:
      if len(json.load(open(sys.argv[2]))['signals'])>=n: return
    except Exception: pass
    time.sleep(0.05)
until(0); os.write(fd,b'\\x03'); until(1); time.sleep(0.5)
seen=json.load(open(sys.argv[2]))
os.kill(seen['pid'],15)
os.waitpid(pid,0)
print(json.dumps(seen['signals']))`;
    const done = spawnSync('python3', ['-c', keys, `exec ${host.replace(/^/, 'env ')}`, out], {
      cwd: space.root,
      env: space.env,
      encoding: 'utf8',
    });
    expect(done.stdout.trim().split('\n').at(-1)).toBe('["SIGINT"]');
  });
});

describe('exec --spawn', () => {
  it('gives the child a name and a key of its own, and takes both away', () => {
    const space = governed();
    const { exit, given, stderr } = execIn(space, 'claude-code', {
      flags: SPAWN,
      env: parent(space),
    });
    expect({ exit, stderr }).toMatchObject({ exit: 0 });
    const own = Object.entries(given?.env ?? {}).filter(([name]) => name.startsWith('WRIT_'));
    expect(own.map(([name]) => name).sort()).toEqual(['WRIT_AS', 'WRIT_KEY']);
    expect(given?.env.WRIT_AS).toBe('kid');
    expect(given?.env.WRIT_KEY).not.toContain(space.root);
    expect(given?.files[given?.env.WRIT_KEY ?? '']).toContain('OPENSSH PRIVATE KEY');
    expect(existsSync(given?.env.WRIT_KEY ?? '')).toBe(false);
    expect(space.has(record)).toBe(false);
    expect(left(space)).toEqual([]);
  });

  it('the key is for this user alone', () => {
    const space = governed();
    const ran = execIn(space, 'generic', {
      flags: SPAWN,
      env: parent(space),
      cmd: ['sh', '-c', 'stat -c %a "$WRIT_KEY" "$(dirname "$WRIT_KEY")"'],
    });
    expect(ran.stdout).toBe('600\n700\n');
  });

  it('what the child signed stays proven: the record stays until it runs out, without a key', () => {
    const space = governed();
    const write = `echo done | ${WRIT} write HANDOFF.md --class operational_handoff --expires 1d`;
    const { exit, stderr } = execIn(space, 'generic', { flags: SPAWN, env: parent(space), cmd: ['sh', '-c', write] });
    expect({ exit, stderr }).toMatchObject({ exit: 0 });
    expect(stderr).toContain('stays, because it signed something');
    expect(space.has(record)).toBe(true);
    expect(left(space)).toEqual([]);
    expect(space.verdict('HANDOFF.md').writer).toMatchObject({ principal: 'kid', role: 'specialist' });
    const again = execIn(space, 'generic', { flags: SPAWN, env: parent(space) });
    expect(again.exit).toBe(1);
    expect(again.stderr).toContain('spawn-collision');
    expect(space.has(record)).toBe(true);
    const post = `echo seen | ${WRIT} post agent-board.jsonl --kind observation`;
    const board = execIn(space, 'generic', {
      flags: ['--spawn', 'kid2', '--role', 'specialist'],
      env: parent(space),
      cmd: ['sh', '-c', post],
    });
    expect(board.exit).toBe(0);
    expect(space.has('policies/spawns/kid2.dsse.json')).toBe(true);
    expect(space.verdict('agent-board.jsonl', 1).writer).toMatchObject({ principal: 'kid2' });
  });

  it('a record is kept for what a child spawned in turn', () => {
    const space = governed();
    space.key('grand');
    const turn = `${WRIT} spawn grand --role specialist --pub '${space.key('grand')}.pub' --expires 1h`;
    const { exit } = execIn(space, 'generic', {
      flags: ['--spawn', 'kid', '--role', 'orchestrator'],
      env: parent(space),
      cmd: ['sh', '-c', turn],
    });
    expect(exit).toBe(0);
    expect(space.has(record)).toBe(true);
  });

  it.each([
    ['a crash', 'kill SIGKILL', 137],
    ['an end by a signal', 'kill SIGTERM', 143],
    ['an error', 'exit 9', 9],
  ])('key and record go after %s of the child', (_what, todo, exit) => {
    const space = governed();
    const ran = execIn(space, 'generic', { flags: SPAWN, env: { ...parent(space), FAKE_DO: todo } });
    expect(ran.exit).toBe(exit);
    expect(existsSync(ran.given?.env.WRIT_KEY ?? '/')).toBe(false);
    expect([space.has(record), left(space)]).toEqual([false, []]);
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('key and record go when exec gets %s', async (signal) => {
    const space = governed();
    const run = startExec(space, 'generic', { flags: SPAWN, env: parent(space), todo: 'stay' });
    const { env } = await run.given();
    expect(existsSync(env.WRIT_KEY ?? '')).toBe(true);
    process.kill(run.pid, signal);
    await run.ended;
    expect([existsSync(env.WRIT_KEY ?? ''), space.has(record), left(space)]).toEqual([false, false, []]);
  });

  it('after SIGKILL of exec the next start takes the key away', async () => {
    const space = governed();
    const run = startExec(space, 'generic', { flags: SPAWN, env: parent(space), todo: 'stay' });
    const { env, pid } = await run.given();
    process.kill(run.pid, 'SIGKILL');
    process.kill(pid, 'SIGKILL');
    await run.ended;
    expect(existsSync(env.WRIT_KEY ?? '')).toBe(true);
    expect(execIn(space, 'generic', { cmd: ['true'] }).exit).toBe(0);
    expect(existsSync(env.WRIT_KEY ?? '')).toBe(false);
  });

  it('sweeping takes nothing else: folders of living starts, links, other names', async () => {
    const space = governed();
    const run = startExec(space, 'generic', { flags: SPAWN, env: parent(space), todo: 'stay' });
    const { env } = await run.given();
    const kept = join(space.base, 'kept');
    mkdirSync(kept);
    writeFileSync(join(kept, 'file'), 'x');
    const dead = dirname(env.WRIT_KEY ?? '').replace(/-\d+-\w+$/, '-4194303-link00');
    symlinkSync(kept, dead);
    expect(execIn(space, 'generic', { cmd: ['true'] }).exit).toBe(0);
    expect([existsSync(env.WRIT_KEY ?? ''), existsSync(join(kept, 'file'))]).toEqual([true, true]);
    process.kill(run.pid, 'SIGTERM');
    await run.ended;
  });

  it('a child that puts something else in place of its record or folder takes nothing with it', () => {
    const space = governed();
    const swap = `rm -r policies/spawns/kid.dsse.json && ln -s ../../AGENTS.md policies/spawns/kid.dsse.json; d="$(dirname "$WRIT_KEY")"; rm -r "$d"; ln -s "$PWD" "$d"`;
    space.put('AGENTS.md', 'x\n');
    const { exit } = execIn(space, 'generic', { flags: SPAWN, env: parent(space), cmd: ['sh', '-c', swap] });
    expect(exit).toBe(0);
    expect(space.has('AGENTS.md')).toBe(true);
    expect(statSync(space.root).isDirectory()).toBe(true);
    expect(readdirSync(space.root)).toContain('policies');
  });

  it.each([
    ['nobody signs', {}, 3, '--key'],
    ['a stranger signs', { stranger: true }, 1, 'writer-unproven'],
    ['a specialist gives more than it has', { as: 'spec', role: 'orchestrator' }, 1, 'spawn-role-widened'],
    ['it lives too long', { as: 'orch', expires: '900d' }, 1, 'spawn-role-widened'],
    ['the name is taken', { as: 'orch', actor: 'lead' }, 1, 'spawn-collision'],
  ] as const)('refuses where %s, and starts nothing', (_what, how, exit, said) => {
    const space = governed();
    const {
      as = null,
      role = 'specialist',
      actor = 'kid',
      expires = '1h',
      stranger = false,
    } = how as Record<string, never>;
    const ran = execIn(space, 'claude-code', {
      flags: ['--spawn', actor, '--role', role, '--expires', expires],
      env: stranger ? { WRIT_KEY: space.key('stranger') } : as === null ? {} : parent(space, as),
    });
    expect({ exit: ran.exit, given: ran.given, stderr: ran.stderr }).toMatchObject({ exit, given: null });
    expect(ran.stderr).toContain(said);
    expect([space.has(record), left(space)]).toEqual([false, []]);
  });

  it.each([
    ['no key', ['--spawn', 'w', '--role', 'specialist'], false],
    ['no time', ['--spawn', 'w', '--role', 'specialist', '--expires', 'soon'], true],
  ])('moves nothing where the command line is wrong: %s', (_what, flags, key) => {
    const space = plain();
    space.put('NEXT_AGENT_INIT.md', '---\ncontext_manifest: [\n---\nx\n');
    const ran = execIn(space, 'generic', { flags, env: key ? { WRIT_KEY: space.key('x') } : {} });
    expect([ran.exit, ran.given, space.has('NEXT_AGENT_INIT.md')]).toEqual([3, null, true]);
    expect(ran.stderr).not.toContain('starting');
  });

  it('is refused in a workspace nobody governs', () => {
    const space = plain();
    const ran = execIn(space, 'generic', { flags: SPAWN, env: { WRIT_KEY: space.key('x') } });
    expect([ran.exit, ran.given]).toEqual([1, null]);
  });
});
