// Makes the throw-away workspaces that bench/run.mjs judges.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const SENTENCES = [
  'The payment service keeps its tables in the `billing` schema and owns every migration there.',
  'Tests run with `npm test`; the slow ones are marked and run at night.',
  'Pull requests name the ticket in the title and say what was tried and what was left.',
  'A retry waits twice as long as the one before, at most a minute.',
  'Logs are one JSON object a line, with the request id in every one.',
  'The cache holds prices for ten minutes; after that the supplier is asked again.',
];

/** Ordinary Markdown of `size` bytes; `seed` makes each text another. */
export function markdown(size, seed) {
  const lines = [`# Notes ${seed}`, ''];
  let length = lines[0].length + 2;
  for (let at = seed; length < size; at += 1) {
    const line = at % 7 === 0 ? `## Part ${at}` : at % 5 === 0 ? `- ${SENTENCES[at % 6]}` : SENTENCES[at % 6];
    lines.push(line);
    length += line.length + 1;
  }
  return `${lines.join('\n').slice(0, size - 1)}\n`;
}

/** A workspace outside every repository, with `count` init files of `size` bytes and nothing that governs it. @returns its folder. */
export function plain(base, count, size) {
  const root = join(base, `plain-${count}`);
  const folder = join(root, '.claude', 'rules');
  mkdirSync(folder, { recursive: true });
  for (let i = 0; i < count; i += 1) writeFileSync(join(folder, `rule-${i}.md`), markdown(size, i));
  return root;
}

/** A git work tree with a pinned set and `count` init files: `approved` policies and `committed` memories proven by signed commits. @returns its folder, or why it could not be made. */
export function governed(base, command, { count, size, approved, committed, env }) {
  const root = join(base, 'governed');
  const folder = join(root, '.claude', 'rules');
  mkdirSync(folder, { recursive: true });
  const key = join(env.HOME, '.config', 'writ', 'keys', 'f13');
  const run = (program, args) => {
    const done = spawnSync(program, args, { cwd: root, env, encoding: 'utf8' });
    if (done.status !== 0) throw new Error(`${program} ${args.slice(0, 3).join(' ')}: ${done.error ?? done.stderr}`);
  };
  const sign = ['-c', 'gpg.format=ssh', '-c', `user.signingKey=${key}`, '-c', 'user.name=f13', '-c', 'user.email=f13'];
  const commit = (paths, message) => {
    run('git', ['add', ...paths]);
    run('git', [...sign, 'commit', '-q', '-S', '-m', message]);
  };
  try {
    run('git', ['init', '-q', '-b', 'main', '.']);
    run(process.execPath, [command, 'init', '--as', 'f13', '--new-key', '--workspace', 'example.org/bench', '--yes']);
    commit(['.'], 'policies');
    const policies = [];
    for (let i = 0; i < count; i += 1) {
      const path = `.claude/rules/rule-${i}.md`;
      if (i < approved) policies.push(path);
      const text = markdown(size, i);
      writeFileSync(join(root, path), i >= approved && i < approved + committed ? memory(text, i) : text);
    }
    run(process.execPath, [command, 'approve', ...policies, '--class', 'policy', '--yes', '--as', 'f13', '--key', key]);
    commit(['policies', '.gitattributes', ...policies], 'approved');
    for (let i = approved; i < approved + committed; i += 10)
      commit(
        Array.from({ length: Math.min(10, approved + committed - i) }, (_, at) => `.claude/rules/rule-${i + at}.md`),
        `memories ${i}`,
      );
  } catch (error) {
    return { missing: error.message.split('\n')[0] };
  }
  return { root };
}

function memory(text, at) {
  const id = at.toString(16).padStart(12, '0');
  return `---
context_manifest:
  artifact_id: 00000000-0000-4000-8000-${id}
  class: memory
  author: f13
  source_commit: null
  authority_level: T1
  approved_by: null
  binding: false
  created_at: 1790000000000
---
${text}`;
}

/** @returns how many artifacts of each kind of proof a `check --format json` told of, so that a bench of nothing shows. */
export function proofsIn(json) {
  const { artifacts, summary } = JSON.parse(json);
  return {
    judged: artifacts.length,
    binding: summary.binding,
    byCommit: artifacts.filter((one) => one.writer?.via === 'commit').length,
  };
}

/** @returns the model of this machine's processor, where it says. */
export function processor() {
  try {
    return /^model name\s*:\s*(.+)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1]?.trim() ?? 'unknown';
  } catch {
    return 'unknown';
  }
}
