// Builds the command: data files into modules, then one bundle per face.
import { chmodSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import './compile.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
rmSync(join(root, 'dist'), { recursive: true, force: true });

await build({
  absWorkingDir: root,
  entryPoints: { writ: 'src/cli/main.ts' },
  outdir: 'dist',
  outExtension: { '.js': '.cjs' },
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20.19',
  minify: true,
  keepNames: false,
  legalComments: 'none',
  external: ['libsql', '@libsql/*', 'fsevents'],
  banner: { js: '#!/usr/bin/env node' },
  logLevel: 'warning',
});
chmodSync(join(root, 'dist', 'writ.cjs'), 0o755);
