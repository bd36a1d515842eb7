import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const WRIT = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'dist', 'writ.cjs');

/** A throw-away workspace with a home of its own: nothing of the person who runs the demo is read or written. */
export function openScratch() {
  if (!existsSync(WRIT)) throw new Error('dist/writ.cjs is not built: run npm run build first');
  const base = mkdtempSync(join(tmpdir(), 'writ-demo-'));
  const root = join(base, 'shop');
  const home = join(base, 'home');
  for (const folder of [root, home]) mkdirSync(folder);
  const env = { PATH: process.env.PATH ?? '', HOME: home, LC_ALL: 'C.UTF-8', NO_COLOR: '1' };
  const keys = new Map();

  const writ = (args, { as = null, input = '', more = {} } = {}) => {
    const signing = as === null ? {} : { WRIT_AS: as, WRIT_KEY: keys.get(as) };
    return run([WRIT, ...args], { cwd: root, env: { ...env, ...signing, ...more } }, input);
  };

  return {
    base,
    root,
    writ,
    /** Runs a command that has to end in 0. */
    async must(as, args, input = '') {
      const ran = await writ(args, { as, input });
      if (ran.exit !== 0) throw new Error(`writ ${args.join(' ')} ended in ${ran.exit}\n${ran.out}${ran.err}`);
      return ran.out.trim();
    },
    /** Where `init --new-key` put the first key. */
    useKey(name, file) {
      keys.set(name, file);
    },
    /**
     * A key for an agent, made by writ itself (ssh-keygen may be missing): `init --new-key` in an empty folder with a config of its own.
     * @returns the public half's file
     */
    async newKey(name) {
      const place = join(base, 'keys', name);
      const empty = join(place, 'empty');
      mkdirSync(empty, { recursive: true });
      const made = await writ(
        ['init', '--root', empty, '--as', name, '--new-key', '--workspace', `demo.invalid/${name}`],
        {
          more: { WRIT_CONFIG: join(place, 'config'), WRIT_STATE: 'none' },
        },
      );
      if (made.exit !== 0) throw new Error(`no key for ${name}: ${made.err}`);
      keys.set(name, join(place, 'config', 'keys', name));
      return `${keys.get(name)}.pub`;
    },
    put(path, content) {
      const file = join(root, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
    },
    read: (path) => readFileSync(join(root, path), 'utf8'),
    has: (path) => existsSync(join(root, path)),
    link: (target, path) => symlinkSync(target, join(root, path)),
    git(...args) {
      const own = ['-c', 'user.name=demo', '-c', 'user.email=demo@example.test', '-c', 'commit.gpgsign=false'];
      const done = spawnSync('git', [...own, ...args], {
        cwd: root,
        env: { ...env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
        encoding: 'utf8',
      });
      if (done.status !== 0) throw new Error(`git ${args[0]}: ${done.stderr ?? done.error?.message}`);
    },
    remove: () => rmSync(base, { recursive: true, force: true }),
  };
}

/** @returns the exit code and everything that was printed, once the process has ended. */
function run(args, options, input) {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, args, options);
    const said = { out: [], err: [] };
    child.stdout.on('data', (bytes) => said.out.push(bytes));
    child.stderr.on('data', (bytes) => said.err.push(bytes));
    child.on('error', fail);
    // A command that needs no input may end before it is given any.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    child.on('close', (exit) =>
      done({
        exit: exit ?? -1,
        out: Buffer.concat(said.out).toString('utf8'),
        err: Buffer.concat(said.err).toString('utf8'),
      }),
    );
  });
}

/** Does a piece of work for each of a list, three at a time: agents write side by side. @returns the results in the order of the list. */
export async function sideBySide(list, work) {
  const results = [];
  let next = 0;
  const worker = async () => {
    while (next < list.length) {
      const index = next++;
      results[index] = await work(list[index]);
    }
  };
  await Promise.all([worker(), worker(), worker()]);
  return results;
}
