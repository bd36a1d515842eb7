import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const REPO = fileURLToPath(new URL('../..', import.meta.url));

/** A program bundled from source, so that tests can run it as processes of its own on every Node version. */
export interface Program {
  readonly file: string;
  remove(): void;
}

/** Bundles TypeScript `source`, whose imports are relative to the repo. Lies under node_modules so that packages are found from there. */
export async function bundleProgram(source: string): Promise<Program> {
  const base = path.join(REPO, 'node_modules', '.writ-test');
  mkdirSync(base, { recursive: true });
  const dir = mkdtempSync(path.join(base, 'p-'));
  const file = path.join(dir, 'program.mjs');
  await build({
    stdin: { contents: source, resolveDir: REPO, loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    outfile: file,
    logLevel: 'silent',
  });
  return { file, remove: () => rmSync(dir, { recursive: true, force: true }) };
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. */
export function run(program: Program, args: readonly string[]): Promise<Ended> {
  return ended(start(program, args));
}

export function start(program: Program, args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [program.file, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
}

export function ended(child: ChildProcess): Promise<Ended> {
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  return new Promise((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
}
