// Keeps what V8 compiled while it judged a small governed workspace, so that the command starts without compiling it again.
// Call: warm.mjs FOLDER, the folder of a finished build. The command may run once in a process, so each part with commands has one of its own.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const [folder = 'dist', part, base = mkdtempSync(join(realpathSync(tmpdir()), 'writ-build-'))] = process.argv.slice(2);
const command = join(resolve(folder), 'writ.cjs');
const root = join(base, 'workspace');
for (const name of Object.keys(process.env)) if (/^(?:WRIT_|XDG_|NODE_)/.test(name)) delete process.env[name];
process.env.HOME = join(base, 'home');
process.env.USERPROFILE = process.env.HOME;

const PAGE =
  '# Notes\n\n- Run `npm test` before every push.\n- Never edit files under vendor.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n';
const CLASSES = { 'AGENTS.md': 'policy', 'CLAUDE.md': 'guidance', 'NEXT_AGENT_INIT.md': 'operational_handoff' };

function run(args, input) {
  const done = spawnSync(process.execPath, [command, ...args], { cwd: root, input, encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`writ ${args.join(' ')}: ${done.stderr}${done.stdout}`);
}

function prepare() {
  mkdirSync(process.env.HOME);
  mkdirSync(join(root, '.claude', 'rules'), { recursive: true });

  run(['init', '--as', 'f13', '--new-key', '--workspace', 'example.org/warm', '--yes'], '');
  const signer = ['--as', 'f13', '--key', join(process.env.HOME, '.config', 'writ', 'keys', 'f13')];
  for (const [name, cls] of Object.entries(CLASSES))
    run(['write', name, '--class', cls, '--expires', '7d', ...signer], PAGE);
  run(['approve', 'AGENTS.md', '--yes', ...signer], '');
  for (let i = 0; i < 8; i += 1) writeFileSync(join(root, '.claude', 'rules', `rule-${i}.md`), `${PAGE}${i}\n`);
  // One manifest in a spelling that needs the YAML parser.
  const handoff = readFileSync(join(root, 'NEXT_AGENT_INIT.md'), 'utf8');
  writeFileSync(join(root, 'HANDOFF.md'), handoff.replace('context_manifest:', '"context_manifest":'));
  run(['load', '--format', 'none'], '');
}

function prepareAndWarm() {
  try {
    prepare();
    for (const each of ['daily', 'main']) {
      const done = spawnSync(process.execPath, [fileURLToPath(import.meta.url), folder, each, base], {
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      if (done.status !== 0) throw new Error(`the part ${each} did not run`);
    }
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
}

function warm() {
  const { load, parts, cacheFile, digestOf } = createRequire(import.meta.url)(command);
  process.once('exit', () => {
    for (const [name, { script }] of parts) {
      const data = script.createCachedData();
      writeFileSync(cacheFile(name), Buffer.concat([digestOf(data), data]));
    }
  });
  process.chdir(root);
  process.argv = [process.execPath, command, 'check'];
  load(part);
}

if (part === undefined) prepareAndWarm();
else warm();
