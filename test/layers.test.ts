import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

/** The layer table of the design: a row imports only from rows above it; folders of one row never import each other. */
const ROWS: readonly (readonly string[])[] = [
  ['model', 'generated', 'page'],
  ['sign', 'git', 'files', 'store'],
  ['discover', 'parse'],
  ['policy'],
  ['gather'],
  ['bind', 'verify', 'scan', 'decide'],
  ['load', 'quarantine', 'record', 'write'],
  ['launch'],
  ['gate.ts', 'enact.ts'],
  ['core.ts'],
  ['tree'],
  ['report', 'contract', 'result', 'handoff'],
  ['run'],
  ['watch', 'hook'],
  ['cli', 'index.ts'],
];
/** Judging is pure: none of these may reach the machine. */
const PURE = ['bind', 'verify', 'scan', 'decide', 'model', 'result'];
const MACHINE = /^(?:node:)?(?:fs|fs\/promises|child_process|os|net|http|https|process|worker_threads)$/;

const root = join(dirname(fileURLToPath(import.meta.url)), '..', 'src');

interface Import {
  readonly from: string;
  readonly target: string;
  readonly typeOnly: boolean;
}

function files(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? files(path) : /\.ts$/.test(entry.name) ? [path] : [];
  });
}

function importsOf(path: string): readonly Import[] {
  const text = readFileSync(path, 'utf8');
  const found = [
    ...text.matchAll(/^(import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)';/gm),
    ...text.matchAll(/(import)\((\s*)'([^']+)'\)/g),
  ];
  return found.map((match) => ({ from: path, target: match[3] ?? '', typeOnly: match[2]?.trim() === 'type' }));
}

function layerOf(path: string): string {
  return relative(root, path).split('/')[0] ?? '';
}

const all = files(root);
const imports = all.flatMap(importsOf);

describe('layers', () => {
  it('knows the row of every folder', () => {
    const known = ROWS.flat();
    expect([...new Set(all.map(layerOf))].filter((layer) => !known.includes(layer))).toEqual([]);
  });

  it('imports only from rows above', () => {
    const wrong = imports
      .filter((one) => one.target.startsWith('.'))
      .filter((one) => !(layerOf(one.from) === 'generated' && one.typeOnly))
      .map((one) => ({ from: one.from, to: resolve(dirname(one.from), one.target) }))
      .filter(({ from, to }) => {
        const [a, b] = [layerOf(from), layerOf(to)];
        if (a === b) return false;
        const rowOf = (layer: string): number => ROWS.findIndex((row) => row.includes(layer));
        // enact.ts acts on what gate.ts judged: the one pair that shares a row.
        return rowOf(b) >= rowOf(a) && !(a === 'enact.ts' && b === 'gate.ts');
      })
      .map(({ from, to }) => `${relative(root, from)} -> ${relative(root, to)}`);
    expect(wrong).toEqual([]);
  });

  it('keeps judging away from the machine', () => {
    const wrong = imports
      .filter((one) => PURE.includes(layerOf(one.from)) && !one.typeOnly && MACHINE.test(one.target))
      .map((one) => `${relative(root, one.from)} -> ${one.target}`);
    expect(wrong).toEqual([]);
    const clocks = all.filter(
      (path) =>
        PURE.includes(layerOf(path)) && /\bDate\.now\(\)|new Date\(\)|\bprocess\./.test(readFileSync(path, 'utf8')),
    );
    expect(clocks.map((path) => relative(root, path))).toEqual([]);
  });

  it('finds imports at all', () => {
    expect(imports.length).toBeGreaterThan(100);
  });
});
