// Builds the command: data files into modules, then a small loader, two parts for writ's own code and one for each large package.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import './compile.mjs';
import { buildLibrary } from './library.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
// Built beside and swapped in whole: a command that runs meanwhile never meets half a build.
const staging = join(root, 'node_modules', `.writ-build-${process.pid}`);
const dist = join(root, 'dist');

/** Packages that most commands never touch. Each becomes a part of its own, read from disk only when it is needed. */
const APART = {
  yaml: "export * from 'yaml';",
  // What the schemas use: a name that is missing here stops the build of the types, not of the command, so test/bundle.test.ts compares.
  'zod/mini':
    "export { array, enum, int, literal, maxLength, maximum, minLength, minimum, number, optional, partialRecord, record, refine, regex, strictObject, string, union } from 'zod/mini';",
  kysely: "export { CompiledQuery, Kysely, SqliteAdapter, SqliteDriver, SqliteQueryCompiler } from 'kysely';",
  'simple-git': "export * from 'simple-git';",
  diff: "export * from 'diff';",
  chokidar: "export { watch } from 'chokidar';",
  'proper-lockfile': "module.exports = require('proper-lockfile');",
};

/** What runs before every boot and every commit, by its first word, has a part of its own: what the other commands need would cost it time. */
const DAILY = { check: ['check.ts'], load: ['load.ts'], hook: ['hook.ts', 'hook-host.ts'] };

/** Modules of writ's own that only some calls need, one part for all of them. They are handed what they need of the rest. */
const LATE = {
  ci: ['src/report/sarif.ts', 'src/report/annotations.ts', 'src/report/metrics.ts'],
};

const apart = {
  name: 'apart',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\.?\// }, ({ path, resolveDir, kind }) => {
      if (kind !== 'dynamic-import') return null;
      const file = relative(root, join(resolveDir, path));
      const part = Object.keys(LATE).find((name) => LATE[name].includes(file));
      return part === undefined ? null : { path: `part:${part}`, external: true };
    });
    onResolve({ filter: /^[a-z][a-z/-]*$/ }, ({ path, importer }) =>
      Object.hasOwn(APART, path) && !importer.includes('node_modules')
        ? { path: `part:${partOf(path)}`, external: true }
        : null,
    );
  },
};

/** The loader never hands the daily part a command of another first word. */
const dailyOnly = {
  name: 'daily only',
  setup({ onResolve, onLoad }) {
    const daily = Object.values(DAILY).flat();
    onResolve({ filter: /^\.\// }, ({ path, importer, kind }) =>
      kind === 'dynamic-import' && importer.endsWith('/src/cli/commands.ts') && !daily.includes(path.slice(2))
        ? { path, namespace: 'elsewhere' }
        : null,
    );
    onLoad({ filter: /./, namespace: 'elsewhere' }, () => ({
      contents: "throw new Error('this command is in the other part');",
    }));
  },
};

/** What the rules find lies in a file of its own: of most rules a run needs nothing, of the others only their lines are read. */
const ruleFile = {
  name: 'rule file',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]generated[\\/]rule-data\.ts$/ }, ({ path }) => {
      const data = [...readFileSync(path, 'utf8').matchAll(/^ {2}(".*"),$/gm)].map(([, entry]) => JSON.parse(entry));
      const ends = data.map((_, at) => data.slice(0, at + 1).join('').length);
      writeFileSync(join(staging, 'rules.data'), data.join(''), 'ascii');
      const contents = `const ends = ${JSON.stringify(ends)};
        export const ruleData = (at) => require('data:rules')(at === 0 ? 0 : ends[at - 1], ends[at]);`;
      return { contents };
    });
  },
};

const common = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20.19',
  minify: true,
  charset: 'ascii',
  legalComments: 'none',
  // The parts run as bare scripts, where only `require` finds anything.
  supported: { 'dynamic-import': false },
  banner: { js: '(function(exports,require,module){' },
  footer: { js: '})' },
  external: ['libsql', '@libsql/*', 'fsevents', 'part:*', 'data:*'],
  logLevel: 'warning',
};

rmSync(staging, { recursive: true, force: true });
mkdirSync(staging, { recursive: true });
try {
  for (const [part, plugins] of Object.entries({ main: [apart, ruleFile], daily: [dailyOnly, apart, ruleFile] })) {
    await build({
      ...common,
      entryPoints: ['src/cli/main.ts'],
      outfile: join(staging, `${part}.part.cjs`),
      plugins,
    });
  }
  for (const [name, contents] of Object.entries(APART)) {
    await build({
      ...common,
      stdin: { contents, resolveDir: root, sourcefile: `${name}.js` },
      outfile: join(staging, `${partOf(name)}.part.cjs`),
    });
  }
  for (const [name, files] of Object.entries(LATE)) {
    await build({
      ...common,
      stdin: {
        contents: [files]
          .flat()
          .map((file) => `export * from './${file}';`)
          .join('\n'),
        resolveDir: root,
      },
      outfile: join(staging, `${name}.part.cjs`),
    });
  }
  await buildLibrary(staging);
  const ids = Object.fromEntries(
    readdirSync(staging)
      .filter((file) => file.endsWith('.part.cjs'))
      .map((file) => [file.slice(0, -'.part.cjs'.length), idOf(file)]),
  );
  await build({
    ...common,
    bundle: false,
    banner: { js: '#!/usr/bin/env node' },
    footer: {},
    external: [],
    define: { PART_IDS: JSON.stringify(ids), DAILY: JSON.stringify(Object.keys(DAILY)) },
    entryPoints: ['src/build/loader.cjs'],
    outfile: join(staging, 'writ.cjs'),
  });
  chmodSync(join(staging, 'writ.cjs'), 0o755);
  // Without compiled code the command works the same, only slower to start.
  const warmed = spawnSync(process.execPath, [join(root, 'src/build/warm.mjs'), staging], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (warmed.status !== 0) process.stderr.write('build: no code was compiled ahead, see above\n');
  const old = join(root, 'node_modules', `.writ-old-${process.pid}`);
  try {
    renameSync(dist, old);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  renameSync(staging, dist);
  rmSync(old, { recursive: true, force: true });
} finally {
  rmSync(staging, { recursive: true, force: true });
}

/** What a package's part is called: `zod` for `zod/mini`. */
function partOf(name) {
  return name.split('/')[0];
}

function idOf(file) {
  return createHash('sha256')
    .update(readFileSync(join(staging, file)))
    .digest('hex')
    .slice(0, 12);
}
