// Speed of the text scan alone, warm, in this process.
import { join } from 'node:path';
import { build } from 'esbuild';
import { markdown } from './workspaces.mjs';

/** Texts made to be slow, by size in characters. */
const HOSTILE = {
  'one character': (size) => 'a'.repeat(size),
  'blank lines': (size) => '\n'.repeat(size),
  base64: (size) =>
    Buffer.alloc(Math.ceil((size * 3) / 4), 'instructions ')
      .toString('base64')
      .slice(0, size),
  'nested fences': (size) => {
    const lines = [];
    for (let length = 0, at = 3; length < size; at = at === 60 ? 3 : at + 1)
      length += lines.push('`'.repeat(at)) && at + 1;
    return lines.join('\n').slice(0, size);
  },
  'half a command': (size) => 'curl -d '.repeat(size / 8),
};
const SMALL = 1_048_576;
const TIMES = 4;

/** @returns rows of figures against their limits. */
export async function measureScan() {
  const scan = await loadScan();
  const time = (text) => {
    const began = performance.now();
    scan(text);
    return performance.now() - began;
  };
  const best = (text, runs) => Math.min(...Array.from({ length: runs }, () => time(text)));
  const median = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];
  const rows = [];

  const texts = Array.from({ length: 200 }, (_, at) => markdown(10_240, at));
  for (let round = 0; round < 3; round += 1) for (const text of texts) scan(text);
  const times = texts.map(time);
  const ms = median([...times]);
  const rate = (texts.length * 10_240) / 1e6 / (times.reduce((sum, one) => sum + one, 0) / 1e3);
  rows.push({
    line: 'scan of 10 KB of Markdown, warm',
    figure: `${ms.toFixed(2)} ms`,
    limit: '< 1 ms',
    passed: ms < 1,
    note: '200 texts',
  });
  rows.push({
    line: 'scan of Markdown, warm',
    figure: `${rate.toFixed(1)} MB/s`,
    limit: '-',
    passed: true,
    note: '2 MB',
  });

  for (const [name, make] of Object.entries(HOSTILE)) {
    const small = make(SMALL);
    const large = make(SMALL * TIMES);
    scan(small);
    const growth = best(large, 3) / best(small, 5);
    const limit = TIMES * 2;
    rows.push({
      line: `scan of ${name}, 4 MB against 1 MB`,
      figure: `${growth.toFixed(1)} x`,
      limit: `<= ${limit} x`,
      passed: growth <= limit,
      note: `${best(large, 1).toFixed(0)} ms for 4 MB`,
    });
  }
  const ten = best(HOSTILE['one character'](10_485_760), 1);
  rows.push({
    line: 'scan of 10 MB of one character',
    figure: `${ten.toFixed(0)} ms`,
    limit: '< 5,000 ms',
    passed: ten < 5_000,
    note: 'one run',
  });
  return rows;
}

async function loadScan() {
  const root = join(import.meta.dirname, '..');
  const built = await build({
    stdin: {
      contents:
        "export { scanText } from './src/scan/scan.ts'; export { DEFAULT_RULES } from './src/scan/default-rules.ts';",
      resolveDir: root,
      loader: 'ts',
    },
    bundle: true,
    format: 'esm',
    platform: 'node',
    write: false,
  });
  const url = `data:text/javascript;base64,${Buffer.from(built.outputFiles[0].contents).toString('base64')}`;
  const { scanText, DEFAULT_RULES } = await import(url);
  return (text) => scanText(text, { workLimit: 64, rules: DEFAULT_RULES });
}
