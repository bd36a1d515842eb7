import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';

const repo = join(import.meta.dirname, '..', '..');
const made: string[] = [];

interface Compiler {
  compileHosts(input: { readonly root: string; readonly out: string }): void;
}

const script = join(repo, 'src/build/compile-hosts.mjs');
const { compileHosts } = (await import(pathToFileURL(script).href)) as Compiler;

function profiles(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'writ-hosts-'));
  made.push(root);
  mkdirSync(join(root, 'policies/defaults/hosts'), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, 'policies/defaults/hosts', name), text);
  return root;
}

function compile(files: Readonly<Record<string, string>>): { readonly fault: string | null; readonly out: string } {
  const root = profiles(files);
  const out = join(root, 'hosts.ts');
  try {
    compileHosts({ root, out });
    return { fault: null, out };
  } catch (error) {
    return { fault: (error as Error).message, out };
  }
}

afterEach(() => {
  for (const dir of made.splice(0)) rmSync(dir, { recursive: true, force: true });
});

const GOOD = `name: a
title: A
source: s
at: 2026-01-01
presence: [.a]
paths:
  - {path: A.md, loads: launch, kind: prose}
`;

const GOOD_PATHS = GOOD.slice(GOOD.indexOf('paths:'));
const LAUNCH = `${GOOD.slice(0, GOOD.indexOf('paths:'))}launch:
  source: s
  at: 2026-01-01
  commands: [a]
  feed: {by: file-option, option: --boot}
  env: {A_B: "1"}
`;

const BROKEN: readonly (readonly [string, string, string])[] = [
  ['an unknown key', `${GOOD}colour: red\n`, '8: unknown key colour'],
  ['an unknown key of an entry', GOOD.replace('kind: prose', 'kind: prose, depth: 3'), '7: unknown key depth'],
  ['a missing field', GOOD.replace(', kind: prose', ''), '7: kind is missing'],
  ['a missing field of the host', GOOD.replace('at: 2026-01-01\n', ''), '1: at is missing'],
  ['a bad date', GOOD.replace('2026-01-01', '2026'), '4: at is not valid'],
  ['a bad word', GOOD.replace('launch', 'boot'), '7: loads is not valid'],
  ['a document', GOOD.replace('kind: prose', 'kind: document'), '7: kind is not valid'],
  ['a climbing path', GOOD.replace('A.md', '../A.md'), '7: path is not valid'],
  ['a wild first folder', GOOD.replace('A.md', '"*/A.md"'), '7: */A.md: the first folder'],
  ['a path twice', `${GOOD}  - {path: A.md, loads: lazy, kind: prose}\n`, '8: A.md is there twice'],
  ['a duplicate key', `${GOOD}title: B\n`, '8: Map keys must be unique'],
  ['imports without syntax', GOOD.replace('kind: prose', 'kind: prose, imports: true'), '7: imports: true'],
  ['another name than the file', GOOD.replace('name: a', 'name: b'), '1: name must be a'],
  ['a budget nobody names', GOOD.replace('kind: prose', 'kind: prose, budget: most'), '7: budget is not valid'],
  ['a budget without a source', `${GOOD}budgets:\n  most: {bytes: 1, at: 2026-01-01}\n`, '9: source is missing'],
  ['a budget of nothing', `${GOOD}budgets:\n  most: {source: s, at: 2026-01-01}\n`, '9: most limits nothing'],
  [
    'a total over nothing',
    `${GOOD}budgets:\n  most: {totalBytes: 1, source: s, at: 2026-01-01}\n`,
    '9: a total needs over and files',
  ],
  ['prose that names files', GOOD.replace('kind: prose', 'kind: prose, names: aider'), '7: names: only configuration'],
  ['a mask without a launch', GOOD.replace('kind: prose', 'kind: prose, masked: always'), '7: masked is not valid'],
  [
    'a mask nobody names',
    `${LAUNCH}${GOOD_PATHS.replace('kind: prose', 'kind: prose, masked: other')}`,
    '13: masked is not valid',
  ],
  ['a launch without a source', `${LAUNCH.replace('  source: s\n', '')}${GOOD_PATHS}`, '7: source is missing'],
  ['an unknown way to feed', `${LAUNCH.replace('file-option', 'telepathy')}${GOOD_PATHS}`, '10: by takes one of'],
  [
    'a way to feed without its option',
    `${LAUNCH.replace(', option: --boot', '')}${GOOD_PATHS}`,
    '10: option is missing',
  ],
  ['a variable of no form', `${LAUNCH.replace('A_B', 'a-b')}${GOOD_PATHS}`, '11: env is not valid'],
  ['broken YAML', `${GOOD}x: [\n`, '9: '],
];

describe('compile-hosts', () => {
  it.each(BROKEN)('refuses %s with file and line', (_what, text, fault) => {
    expect(compile({ 'a.yaml': text }).fault).toContain(`policies/defaults/hosts/a.yaml:${fault}`);
  });

  it('refuses no profiles at all', () => {
    expect(compile({}).fault).toBe('policies/defaults/hosts: no host profiles');
  });

  it('refuses a host that is there twice', () => {
    const again = GOOD.replace(/^/gm, '  ').replace('  name', '- name');
    expect(compile({ 'a.yaml': GOOD, 'b.yaml': again }).fault).toContain('b.yaml:1: the host a is there twice');
  });

  it('writes the module', () => {
    const { fault, out } = compile({ 'a.yaml': GOOD });
    expect(fault).toBeNull();
    expect(readFileSync(out, 'utf8')).toContain('["A.md",[0]]');
  });

  it('ends with 1 and the faults on stderr', () => {
    const root = profiles({ 'a.yaml': GOOD.replace('launch', 'boot') });
    mkdirSync(join(root, 'src/build'), { recursive: true });
    copyFileSync(script, join(root, 'src/build/compile-hosts.mjs'));
    symlinkSync(join(repo, 'node_modules'), join(root, 'node_modules'));
    const run = spawnSync(process.execPath, [join(root, 'src/build/compile-hosts.mjs')], { encoding: 'utf8' });
    expect([run.status, run.stderr]).toEqual([1, 'policies/defaults/hosts/a.yaml:7: loads is not valid: "boot"\n']);
  });
});
