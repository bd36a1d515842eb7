import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Writes the files that `writ init` starts a workspace with, and the package version, into one module. */
export function compileTemplate({ root, out }) {
  const read = (name) => readFileSync(join(root, 'policies', 'defaults', 'template', name), 'utf8');
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const lines = [
    '// Made by src/build/compile.mjs from policies/defaults/template. Do not edit.',
    `export const VERSION = ${JSON.stringify(version)};`,
    `export const CONSTITUTION_TEMPLATE = ${JSON.stringify(read('constitution.md'))};`,
    '',
  ];
  const text = lines.join('\n');
  // Left alone where it says the same: tests may be reading it.
  if (!existsSync(out) || readFileSync(out, 'utf8') !== text) writeFileSync(out, text);
}
