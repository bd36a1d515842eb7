// Compiles the rule files into modules, so that no YAML is read at run time. A broken rule stops the build and names its file and line.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';
import { LineCounter, parseDocument } from 'yaml';
import { needsOf } from './needs.mjs';

const RULES = 'policies/defaults/rules';

/**
 * Reads every rule file under `root`, checks it strictly and writes two modules into the folder `out` (default src/generated): rules.ts, what every scan
 * needs, and rule-data.ts, what a text needs in which a literal of a rule stands. Returns the rule files read.
 */
export async function compileRules({ root, out = join(root, 'src/generated') }) {
  const { toRule, buildTree, treeOf, packTree, packRule, ROOM } = await loadScan(root);
  const folder = join(root, RULES);
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.yaml'))
    .sort();
  if (files.length === 0) throw new Error(`${RULES}: no rule files`);
  const packNeeds = (rules) => {
    const lists = [];
    const always = [];
    for (const [place, rule] of rules.entries()) {
      if (rule.patterns.length > ROOM) throw new Error(`${RULES}/${rule.id}.yaml: more than ${ROOM} patterns`);
      for (const [at, steps] of rule.patterns.entries()) {
        const needs = needsOf(steps);
        if (needs === null) always.push(place * ROOM + at);
        else lists[place * ROOM + at] = needs;
      }
    }
    return { tree: packTree(treeOf(Array.from(lists, (list) => list ?? []))), always };
  };
  const read = files.map((name) => readRule(join(folder, name), `${RULES}/${name}`, toRule));
  mkdirSync(out, { recursive: true });
  const rules = read.map((file) => file.rule);
  put(join(out, 'rules.ts'), renderRules(rules, packTree(buildTree(rules))));
  put(join(out, 'rule-data.ts'), renderData(rules.map(packRule), packNeeds(rules)));
  return read;
}

/** Reads one rule file; throws with `name:line: message` for every fault. */
export function readRule(path, name, toRule) {
  const lines = new LineCounter();
  const document = parseDocument(readFileSync(path, 'utf8'), {
    lineCounter: lines,
    prettyErrors: false,
    version: '1.2',
  });
  const faults = [...document.errors, ...document.warnings].map(
    (error) => `${name}:${lines.linePos(error.pos[0]).line}: ${error.message}`,
  );
  if (faults.length > 0) throw new Error(faults.join('\n'));
  const result = toRule(document.toJS({ maxAliasCount: 0 }));
  if (Array.isArray(result)) {
    throw new Error(
      result.map((fault) => `${name}:${lineOf(document, fault.key, lines)}: ${fault.message}`).join('\n'),
    );
  }
  const stem = name.slice(name.lastIndexOf('/') + 1, -'.yaml'.length);
  if (result.rule.id !== stem)
    throw new Error(`${name}:${lineOf(document, ['id'], lines)}: id must be ${stem}, the file's name`);
  return result;
}

/** The validator and the maker of the tree are TypeScript; esbuild makes them loadable on every Node that builds. */
export async function loadScan(root) {
  const built = buildSync({
    stdin: {
      contents: "export * from './to-rule.ts'; export * from './literal-tree.ts'; export * from './packed-rule.ts';",
      resolveDir: join(root, 'src/scan'),
    },
    bundle: true,
    format: 'esm',
    write: false,
    logLevel: 'silent',
  });
  const url = `data:text/javascript;base64,${Buffer.from(built.outputFiles[0].contents).toString('base64')}`;
  return import(url);
}

function lineOf(document, key, lines) {
  const node = key.length === 0 ? document.contents : document.getIn(key, true);
  const offset = node?.range?.[0] ?? 0;
  return lines.linePos(offset).line;
}

function put(path, text) {
  if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeFileSync(path, text);
}

const HEAD = '// Written by src/build/compile-rules.mjs from policies/defaults/rules; edit those files.';

function renderRules(rules, tree) {
  const heads = rules.map(({ patterns: _, literals: __, ...head }) => `  ${ascii(head)},`);
  return [
    HEAD,
    "import type { PackedTree } from '../scan/literal-tree.ts';",
    "import type { RuleHead } from '../scan/rule.ts';",
    '',
    '/** The rules that ship with writ, in the order of their ids, without what they find. */',
    'export const RULE_HEADS: readonly RuleHead[] = [',
    ...heads,
    '];',
    '',
    '/** The tree of their literals. */',
    `export const DEFAULT_LITERALS: PackedTree = ${ascii(tree)};`,
    '',
  ].join('\n');
}

function renderData(rules, needs) {
  return [
    HEAD,
    '/** What the rule at each place of RULE_HEADS finds (src/scan/packed-rule.ts); behind them what their patterns need (src/scan/pattern-needs.ts). ASCII. */',
    'export const RULE_DATA: readonly string[] = [',
    ...[...rules, needs].map((entry) => `  ${JSON.stringify(ascii(entry))},`),
    '];',
    '',
    '/** @returns the entry of RULE_DATA at a place; the command reads it from a file. */',
    'export function ruleData(at: number): string {',
    "  return RULE_DATA[at] ?? '';",
    '}',
    '',
  ].join('\n');
}

function ascii(value) {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const read = await compileRules({ root: process.cwd() });
  process.stdout.write(`${read.length} rules\n`);
}
