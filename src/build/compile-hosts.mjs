// Compiles the host profiles into one module with an index by name and by folder, so that a walk can dismiss a file without running patterns.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import picomatch from 'picomatch';
import { isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';

const FOLDER = 'policies/defaults/hosts';
const LOADS = ['launch', 'lazy', 'spawn'];
// `document` is missing on purpose: only policy.yaml names constitution documents.
const KINDS = ['prose', 'executable', 'board'];
const BUDGET = ['bytes', 'lines', 'chars', 'totalBytes', 'totalChars', 'skips', 'head', 'tail'];
/** Configuration whose entries name files the host loads (src/parse/named-files.ts). */
const FORMS = ['opencode', 'aider'];
const WILD = /[*?[\]{}]/;
const NAME = /^[a-z][a-z0-9-]{0,31}$/;
/** How a host is handed the boot context, and the fields each way needs (src/launch/feed.ts). */
const FEEDS = {
  'file-option': ['option'],
  'toml-option': ['option', 'key'],
  'file-variable': ['variable'],
  'json-variable': ['variable'],
  'plugin-hook': ['option'],
};

const text = (value) => typeof value === 'string' && value.trim() !== '' && !/[\\\0\n]/.test(value);
const flag = (value) => value === true;
const positive = (value) => Number.isSafeInteger(value) && value > 0;
const day = (value) => text(value) && /^\d{4}-\d{2}-\d{2}$/.test(value) && Number.isFinite(Date.parse(value));
const variables = (value) =>
  typeof value === 'object' &&
  value !== null &&
  Object.entries(value).every(([name, one]) => /^[A-Z][A-Z0-9_]*$/.test(name) && typeof one === 'string');
const oneOf = (words) => (value) => words.includes(value);
const relative = (value) =>
  text(value) && !/^\/|^[A-Za-z]:/.test(value) && !value.split('/').some((part) => ['', '.', '..'].includes(part));
const plain = (value) => relative(value) && !WILD.test(value);

/** Reads every profile under `root` and writes the module `out`. Throws `HostFaults` with one `file:line: message` a line. */
export function compileHosts({
  root,
  out = join(root, 'src/generated/hosts.ts'),
  launchOut = join(dirname(out), 'launch.ts'),
}) {
  const files = readdirSync(join(root, FOLDER))
    .filter((name) => name.endsWith('.yaml'))
    .sort();
  const faults = [];
  const hosts = files.flatMap((name) => readHosts(join(root, FOLDER, name), `${FOLDER}/${name}`, faults));
  for (const [at, host] of hosts.entries()) {
    if (hosts.findIndex((other) => other.name === host.name) !== at)
      faults.push(`${host.file}:${host.line}: the host ${host.name} is there twice`);
  }
  if (hosts.length === 0 && faults.length === 0) faults.push(`${FOLDER}: no host profiles`);
  if (faults.length > 0) throw new HostFaults(faults);
  for (const [path, module] of [
    [out, render(hosts)],
    [launchOut, renderLaunch(hosts)],
  ]) {
    mkdirSync(dirname(path), { recursive: true });
    if (existing(path) !== module) writeFileSync(path, module);
  }
}

/** What is wrong with the profiles. Under a build script it ends the process with 1, as any uncaught error does. */
export class HostFaults extends Error {
  name = 'HostFaults';
  constructor(faults) {
    super(faults.join('\n'));
    this.faults = faults;
  }
}

function readHosts(path, file, faults) {
  const lines = new LineCounter();
  const document = parseDocument(readFileSync(path, 'utf8'), {
    lineCounter: lines,
    prettyErrors: false,
    version: '1.2',
    uniqueKeys: true,
    merge: false,
  });
  const fail = (node, message) => faults.push(`${file}:${lines.linePos(node?.range?.[0] ?? 0).line || 1}: ${message}`);
  for (const error of [...document.errors, ...document.warnings])
    faults.push(`${file}:${lines.linePos(error.pos[0]).line}: ${error.message}`);
  if (document.errors.length + document.warnings.length > 0) return [];
  const list = isSeq(document.contents) ? document.contents.items : [document.contents];
  return list
    .map((node) => readHost(node, fail))
    .filter((host) => host !== null)
    .map((host) => ({ ...host, file, line: lines.linePos(host.offset).line }))
    .map((host) => checkName(host, file, isSeq(document.contents), faults));
}

function checkName(host, file, isList, faults) {
  if (!isList && `${host.name}.yaml` !== basename(file))
    faults.push(`${file}:${host.line}: name must be ${basename(file, '.yaml')}, the file's name`);
  return host;
}

function readHost(node, fail) {
  const host = record(node, fail, {
    required: {
      name: (v) => text(v) && NAME.test(v),
      title: text,
      source: text,
      at: day,
      presence: list(plain),
      paths: 'nodes',
    },
    optional: {
      imports: 'node',
      budgets: 'node',
      outside: 'nodes',
      launch: 'node',
      lookalikes: list((v) => plain(v) && !v.includes('/')),
    },
  });
  if (host === null) return null;
  const imports =
    host.imports &&
    record(host.imports, fail, {
      required: { syntax: oneOf(['claude', 'gemini', 'cursor']), hops: positive },
      optional: {},
    });
  const budgets = readBudgets(host.budgets, fail);
  const common = { loads: oneOf(LOADS), kind: oneOf(KINDS) };
  const launch = readLaunch(host.launch, fail);
  const isMask = (value) =>
    launch !== null && (value === 'always' || value === 'launch' || Object.hasOwn(launch.narrow, value));
  const isBudget = (value) => budgets.some((one) => one.name === value);
  const facts = { imports: flag, budget: isBudget, source: text, at: day, masked: isMask };
  const entry = (shape) => (item) => {
    const read = record(item, fail, shape);
    if (read === null) return [];
    if (read.imports && !imports) fail(item, 'imports: true, but the host names no import syntax');
    const { source: _source, at: _at, imports: follows, budget, ...rest } = read;
    if (read.names && read.kind !== 'executable') fail(item, 'names: only configuration names files');
    return [{ ...rest, node: item, hops: follows && imports ? imports.hops : 0, budget: budget ?? null }];
  };
  const paths = host.paths.flatMap(
    entry({ required: { path: relative, ...common }, optional: { anyDepth: flag, names: oneOf(FORMS), ...facts } }),
  );
  const outside = (host.outside ?? []).flatMap(
    entry({ required: { in: oneOf(['home', 'system', 'ancestors']), path: text, ...common }, optional: facts }),
  );
  for (const one of paths) checkPath(one, fail);
  for (const one of outside) checkOutside(one, fail);
  repeated(paths, (one) => one.path, fail);
  repeated(outside, (one) => `${one.in} ${one.path}`, fail);
  return {
    ...host,
    imports: imports ?? null,
    budgets,
    launch,
    paths,
    outside,
    lookalikes: host.lookalikes ?? [],
    offset: node.range[0],
  };
}

/** The facts of starting a host: what narrows it, how it is handed the boot context, and what of its own would undo that. */
function readLaunch(node, fail) {
  if (!node) return null;
  const words = list((v) => typeof v === 'string' && v !== '' && !/[\0\n]/.test(v));
  const read = record(node, fail, {
    required: { source: text, at: day, commands: words, feed: 'node' },
    optional: {
      args: words,
      env: variables,
      drops: words,
      owns: words,
      resumes: words,
      resumeArgs: words,
      narrow: 'node',
      takes: 'nodes',
    },
  });
  if (read === null) return null;
  const {
    args = [],
    env = {},
    drops = [],
    owns = [],
    resumes = [],
    resumeArgs = [],
    narrow,
    takes = [],
    ...rest
  } = read;
  return {
    ...rest,
    args,
    env,
    drops,
    owns,
    resumes,
    resumeArgs,
    narrow: narrow ? readGroups(narrow, words, fail) : {},
    takes: takes.flatMap((one) => record(one, fail, { required: { path: plain, option: text }, optional: {} }) ?? []),
    feed: readFeed(read.feed, fail),
  };
}

/** Switches that are used only where something they keep out is there and does not bind; by a name of their own. */
function readGroups(node, words, fail) {
  if (!isMap(node)) {
    fail(node, 'narrow must be a map');
    return {};
  }
  return Object.fromEntries(
    node.items.flatMap(({ key, value }) => {
      const name = String(key.value);
      if (!NAME.test(name) || ['always', 'launch'].includes(name)) fail(key, `${name} is no name for a group`);
      const group = record(value, fail, {
        required: { says: text },
        optional: { args: words, env: variables, unless: words },
      });
      return group === null ? [] : [[name, { args: [], env: {}, unless: [], ...group }]];
    }),
  );
}

function readFeed(node, fail) {
  const by = isMap(node) ? node.get('by') : null;
  if (!Object.hasOwn(FEEDS, by)) {
    fail(node, `by takes one of ${Object.keys(FEEDS).join(', ')}`);
    return null;
  }
  const needs = Object.fromEntries(FEEDS[by].map((field) => [field, text]));
  return record(node, fail, { required: { by: text, ...needs }, optional: {} });
}

function checkPath({ path, node }, fail) {
  const first = path.split('/')[0];
  if (path.includes('/') && WILD.test(first))
    fail(node, `${path}: the first folder must be spelt out, the index is built on it`);
  if ((path.match(/\*\*/g) ?? []).length > 1) fail(node, `${path}: one ** at most`);
  if (/[{}!()]/.test(path)) fail(node, `${path}: braces, groups and negations are not used in profiles`);
}

function checkOutside({ in: where, path, node }, fail) {
  if (where === 'system' ? !/^\/|^[A-Z]:\//.test(path) : !relative(path))
    fail(node, `${path}: ${where === 'system' ? 'must be absolute' : 'must be relative'}`);
  if (where === 'ancestors' && WILD.test(path)) fail(node, `${path}: ancestors take plain paths only`);
  if (path.includes('..')) fail(node, `${path}: no ..`);
}

function repeated(entries, keyOf, fail) {
  const seen = new Set();
  for (const one of entries) {
    if (seen.has(keyOf(one))) fail(one.node, `${one.path} is there twice`);
    seen.add(keyOf(one));
  }
}

/** What a host reads of a file, or of several together, by a name that entries use; each with its own source. */
function readBudgets(node, fail) {
  if (!node) return [];
  if (!isMap(node)) {
    fail(node, 'budgets must be a map');
    return [];
  }
  return node.items.flatMap(({ key, value }) => {
    const name = String(key.value);
    if (!NAME.test(name)) fail(key, `${name} is no name for a budget`);
    const numbers = Object.fromEntries(BUDGET.map((unit) => [unit, positive]));
    const read = record(value, fail, {
      required: { source: text, at: day },
      optional: { ...numbers, body: flag, over: oneOf(['chain', 'folder']), files: list(plain) },
    });
    if (read === null) return [];
    const isTotal = read.totalBytes !== undefined || read.totalChars !== undefined;
    if (isTotal !== (read.over !== undefined && read.files !== undefined))
      fail(value, 'a total needs over and files, and they need a total');
    if (!BUDGET.slice(0, 6).some((unit) => read[unit] !== undefined)) fail(value, `${name} limits nothing`);
    return [{ name, ...read }];
  });
}

function list(check) {
  return (value) => Array.isArray(value) && value.every(check);
}

/** A YAML map as an object: every key known, every required key there, every value in form; else null after telling each fault. */
function record(node, fail, { required, optional }) {
  if (!isMap(node)) {
    fail(node, 'expected a map');
    return null;
  }
  const shape = { ...required, ...optional };
  const read = {};
  let ok = true;
  const bad = (at, message) => {
    ok = false;
    fail(at, message);
  };
  for (const { key, value } of node.items) {
    const name = isScalar(key) ? String(key.value) : '?';
    const check = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (check === undefined) bad(key, `unknown key ${name}`);
    else if (check === 'node') read[name] = value;
    else if (check === 'nodes') {
      if (isSeq(value)) read[name] = value.items;
      else bad(value ?? key, `${name} must be a list`);
    } else {
      const plainValue = value?.toJSON() ?? null;
      if (check(plainValue)) read[name] = plainValue;
      else bad(value ?? key, `${name} is not valid: ${JSON.stringify(plainValue)}`);
    }
  }
  for (const name of Object.keys(required)) {
    if (!node.items.some(({ key }) => isScalar(key) && key.value === name)) bad(node, `${name} is missing`);
  }
  return ok ? read : null;
}

function render(hosts) {
  const entries = hosts.flatMap((host) => host.paths.map((path) => ({ host: host.name, ...path })));
  const budgets = hosts.flatMap((host) => host.budgets.map((one) => ({ host: host.name, title: host.title, ...one })));
  const budgetAt = (host, name) => {
    const at = budgets.findIndex((one) => one.host === host && one.name === name);
    return at < 0 ? null : at;
  };
  const byName = new Map();
  const patterns = new Map();
  const folders = new Map();
  const add = (map, key, id) => map.set(key, [...(map.get(key) ?? []), id]);
  for (const [id, { path }] of entries.entries()) {
    if (path.includes('/')) add(folders, path.slice(0, path.indexOf('/')), id);
    else if (WILD.test(path)) add(patterns, sourceOf(path), id);
    else add(byName, path, id);
  }
  const rows = (values) => values.map((value) => `  ${JSON.stringify(value)},`).join('\n');
  return `// Made by src/build/compile-hosts.mjs from ${FOLDER}. Do not edit.
import type { Budget, HostProfile, ProfileEntry } from '../discover/profile.ts';

export const HOSTS: readonly HostProfile[] = [
${rows(
  hosts.map(({ name, title, source, at, presence, imports, outside }) => ({
    name,
    title,
    source,
    at,
    presence,
    imports,
    outside: outside.map(({ in: where, path, loads, kind, hops, budget }) => ({
      where,
      path,
      loads,
      kind,
      hops,
      budget: budgetAt(name, budget),
    })),
  })),
)}
];

export const ENTRIES: readonly ProfileEntry[] = [
${rows(
  entries.map(({ host, path, loads, kind, anyDepth, hops, budget, names }) => ({
    host,
    glob: path,
    source: path.includes('/') ? sourceOf(path) : '',
    loads,
    kind,
    anyDepth: anyDepth === true,
    hops,
    budget: budgetAt(host, budget),
    ...(names === undefined ? {} : { names }),
  })),
)}
];

/** What hosts read at most; entries name them by their place here. */
export const BUDGETS: readonly Budget[] = [
${rows(budgets)}
];

/** Exact file names, and the entries they stand for. */
export const NAMES: readonly (readonly [string, readonly number[]])[] = [
${rows([...byName])}
];

/** Regular expressions of file names, and their entries. */
export const NAME_PATTERNS: readonly (readonly [string, readonly number[]])[] = [
${rows([...patterns])}
];

/** First folders of longer patterns, and their entries. */
export const FOLDERS: readonly (readonly [string, readonly number[]])[] = [
${rows([...folders])}
];

/** Names that a pattern covers already, but whose look-alikes matter too. */
export const LOOKALIKES: readonly string[] = ${JSON.stringify(hosts.flatMap((host) => host.lookalikes))};
`;
}

/** A module of its own: only a start of a host needs it. */
function renderLaunch(hosts) {
  const started = hosts.filter(({ launch }) => launch !== null);
  const masks = (entries, keyOf) =>
    Object.fromEntries(entries.filter(({ masked }) => masked).map((entry) => [keyOf(entry), entry.masked]));
  const rows = started.map(({ name, launch, paths, outside }) => ({
    host: name,
    ...launch,
    inside: masks(paths, ({ path }) => path),
    outside: masks(outside, ({ in: where, path }) => `${where} ${path}`),
  }));
  return `// Made by src/build/compile-hosts.mjs from ${FOLDER}. Do not edit.
import type { LaunchProfile } from '../discover/launch-profile.ts';

/** Hosts that writ knows how to start narrowed. */
export const LAUNCHES: readonly LaunchProfile[] = [
${rows.map((row) => `  ${JSON.stringify(row)},`).join('\n')}
];
`;
}

function sourceOf(glob) {
  return picomatch.makeRe(glob, { dot: true, nonegate: true, noextglob: true, nobrace: true }).source;
}

function existing(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    compileHosts({ root: join(import.meta.dirname, '..', '..') });
  } catch (error) {
    if (!(error instanceof HostFaults)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
