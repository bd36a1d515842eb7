// Builds what programs import: dist/lib/index.js and dist/lib/core.js as ES modules, with the types they are told.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const source = join(root, 'src');
const ENTRIES = ['index', 'core'];
/** What may be imported from outside; nothing of it has effects by being imported. */
const OUTSIDE = /^(?:node:)?[a-z@]/;

const outside = {
  name: 'outside',
  setup({ onResolve }) {
    onResolve({ filter: OUTSIDE }, ({ path }) => ({ path, external: true, sideEffects: false }));
  },
};

/**
 * The core is one file without store, git and file system. What it shares with the rest is pure, so a module counts only where something of it is used;
 * what the rest loads on demand (git, state) it never asks for.
 */
const coreOnly = {
  name: 'core only',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\.\.?\/.*\.ts$/ }, ({ path, kind, resolveDir }) =>
      kind === 'dynamic-import' ? { path, namespace: 'none' } : { path: join(resolveDir, path), sideEffects: false },
    );
    onLoad({ filter: /./, namespace: 'none' }, () => ({ contents: 'export {};' }));
  },
};

/** Writes the library below a folder. */
export async function buildLibrary(folder) {
  const outdir = join(folder, 'lib');
  const common = {
    absWorkingDir: root,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    charset: 'utf8',
    legalComments: 'none',
    outdir,
    logLevel: 'warning',
  };
  await build({
    ...common,
    entryPoints: { index: 'src/index.ts' },
    splitting: true,
    chunkNames: 'part-[hash]',
    plugins: [outside],
  });
  await build({
    ...common,
    entryPoints: { core: 'src/core.ts' },
    plugins: [outside, coreOnly],
    logOverride: { 'import-is-undefined': 'silent' },
  });
  copyTypes(outdir);
}

/** Types take seconds to make, so they are kept by what they are made from. */
function copyTypes(outdir) {
  const kept = join(root, 'node_modules', `.writ-types-${digestOf(source)}`);
  if (!existsSync(kept)) {
    for (const name of readdirSync(join(root, 'node_modules')))
      if (name.startsWith('.writ-types-')) rmSync(join(root, 'node_modules', name), { recursive: true, force: true });
    const making = `${kept}.${process.pid}`;
    makeTypes(making);
    if (existsSync(kept)) rmSync(making, { recursive: true, force: true });
    else renameSync(making, kept);
  }
  cpSync(kept, outdir, { recursive: true });
}

function makeTypes(outdir) {
  const config = join(root, 'node_modules', `.writ-types-${process.pid}.json`);
  const all = `${outdir}.all`;
  writeFileSync(
    config,
    JSON.stringify({
      extends: '../tsconfig.json',
      compilerOptions: {
        rootDir: '../src',
        outDir: all,
        noEmit: false,
        declaration: true,
        emitDeclarationOnly: true,
        stripInternal: true,
        typeRoots: ['./@types'],
      },
      include: [],
      files: ENTRIES.map((name) => `../src/${name}.ts`),
    }),
  );
  try {
    const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
    const done = spawnSync(process.execPath, [tsc, '-p', config], { cwd: root, encoding: 'utf8' });
    if (done.status !== 0) throw new Error(`the types of the library:\n${done.stdout}${done.stderr}`);
    for (const file of reached(all)) {
      const to = join(outdir, relative(all, file));
      mkdirSync(dirname(to), { recursive: true });
      // Consumers need not allow imports of .ts files.
      writeFileSync(to, readFileSync(file, 'utf8').replace(/(['"])(\.{1,2}\/[^'"]+)\.ts\1/g, '$1$2.js$1'));
    }
  } finally {
    rmSync(config, { force: true });
    rmSync(all, { recursive: true, force: true });
  }
}

/** Declarations that the entries lead to; the rest is nobody's business. */
function reached(folder) {
  const found = new Set(ENTRIES.map((name) => join(folder, `${name}.d.ts`)));
  for (const file of found) {
    for (const [, path] of readFileSync(file, 'utf8').matchAll(/['"](\.{1,2}\/[^'"]+)\.ts['"]/g))
      found.add(join(dirname(file), `${path}.d.ts`));
  }
  return found;
}

function digestOf(folder) {
  const hash = createHash('sha256').update(readFileSync(fileURLToPath(import.meta.url)));
  hash.update(readFileSync(join(root, 'package-lock.json')));
  const walk = (at) => {
    for (const entry of readdirSync(at, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(at, entry.name);
      if (entry.isDirectory()) {
        if (!['cli', 'build'].includes(entry.name)) walk(path);
      } else if (entry.name.endsWith('.ts')) hash.update(relative(source, path)).update(readFileSync(path));
    }
  };
  walk(folder);
  return hash.digest('hex').slice(0, 16);
}
