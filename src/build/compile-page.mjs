import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { buildSync } from 'esbuild';

/** Builds the script and the style of the page of `writ report` from src/page into one module of two texts. */
export function compilePage({ root, out }) {
  const built = (entry) => {
    const { outputFiles } = buildSync({
      absWorkingDir: root,
      entryPoints: [`src/page/${entry}`],
      bundle: true,
      write: false,
      minify: true,
      format: 'iife',
      target: ['chrome111', 'firefox113', 'safari16.4'],
      charset: 'ascii',
      legalComments: 'none',
      logLevel: 'warning',
    });
    const text = outputFiles[0].text.trim();
    // Both stand inside elements of the page: neither may end its own.
    if (/<\/|<!--/.test(text))
      throw new Error(`src/page/${entry}: "</" and "<!--" may not stand in what goes into the page`);
    return text;
  };
  const lines = [
    '// Made by src/build/compile.mjs from src/page. Do not edit.',
    `export const PAGE_SCRIPT = ${JSON.stringify(built('page.ts'))};`,
    `export const PAGE_STYLE = ${JSON.stringify(built('page.css'))};`,
    '',
  ];
  const text = lines.join('\n');
  mkdirSync(dirname(out), { recursive: true });
  // Left alone where it says the same: tests may be reading it.
  if (!existsSync(out) || readFileSync(out, 'utf8') !== text) writeFileSync(out, text);
}
