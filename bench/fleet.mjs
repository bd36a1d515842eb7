// 200 generated repositories through `writ check --each`: seconds and verdicts. `npm run build` first.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const COUNT = Number(process.argv[2] ?? 200);
const command = join(dirname(fileURLToPath(import.meta.url)), '..', 'dist', 'writ.cjs');
const base = mkdtempSync(join(tmpdir(), 'writ-fleet-'));
const env = { PATH: process.env.PATH, HOME: join(base, 'home'), LC_ALL: 'C.UTF-8' };
const run = (program, args, cwd) => {
  const done = spawnSync(program, args, { cwd, env, encoding: 'utf8', maxBuffer: 1 << 28 });
  if (done.error) throw done.error;
  return done;
};
const git = (cwd, ...args) => run('git', ['-c', 'user.email=dev@example.test', '-c', 'user.name=dev', ...args], cwd);
const prose = (topic, lines) =>
  Array.from({ length: lines }, (_, line) => `- ${topic} ${line}: build with make, test with make test.`).join('\n');
try {
  mkdirSync(env.HOME);
  const seed = join(base, 'seed');
  for (let folder = 0; folder < 30; folder += 1) {
    mkdirSync(join(seed, `src/part-${folder}`), { recursive: true });
    for (let file = 0; file < 10; file += 1)
      writeFileSync(join(seed, `src/part-${folder}/f${file}.ts`), `export const n = ${file};\n`);
  }
  for (const [path, lines] of [
    ['AGENTS.md', 120],
    ['CLAUDE.md', 80],
    ['.github/copilot-instructions.md', 60],
    ['.cursor/rules/style.mdc', 40],
    ['.claude/skills/release/SKILL.md', 90],
    ['docs/HANDOFF.md', 30],
  ]) {
    mkdirSync(dirname(join(seed, path)), { recursive: true });
    writeFileSync(join(seed, path), `# ${path}\n\n${prose(path, lines)}\n`);
  }
  const fleet = join(base, 'fleet');
  for (let index = 0; index < COUNT; index += 1) {
    const repo = join(fleet, `acme/repo-${String(index).padStart(3, '0')}`);
    cpSync(seed, repo, { recursive: true });
    writeFileSync(join(repo, 'AGENTS.md'), `# Repository ${index}\n\n${prose(`rule of ${index}`, 120)}\n`);
    git(repo, 'init', '-q', '-b', 'main', '.');
    git(repo, 'add', '-A');
    git(repo, 'commit', '-qm', 'first');
  }
  const start = performance.now();
  const done = run(process.execPath, [command, 'check', '--each', fleet, '--observe', '--format', 'json'], base);
  const seconds = (performance.now() - start) / 1000;
  const { total } = JSON.parse(done.stdout);
  process.stdout.write(`${total.repositories} repositories in ${seconds.toFixed(1)} s, exit ${done.status}\n`);
  process.stdout.write(`${JSON.stringify(total)}\n`);
} finally {
  rmSync(base, { recursive: true, force: true });
}
