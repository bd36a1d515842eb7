import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const dist = join(root, 'dist');
const base = mkdtempSync(join(tmpdir(), 'writ-bundle-'));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

afterAll(() => rmSync(base, { recursive: true, force: true }));

/** Parts that a check of a governed workspace runs, and so has compiled code for. */
const WARMED = ['daily', 'main', 'yaml', 'kysely', 'zod'];
/** What may lie in the package besides the build and the defaults; npm adds the first three by itself. */
const BESIDE = ['LICENSE', 'README.md', 'package.json', '.pre-commit-hooks.yaml'];

interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(command: string, args: readonly string[]): Ran {
  const env = { PATH: process.env.PATH ?? '', HOME: base, NO_COLOR: '1' };
  return spawnSync(process.execPath, [command, ...args], { cwd: base, env, encoding: 'utf8' });
}

/** A copy of the build with its packages in reach. */
function copyOf(name: string): string {
  const folder = join(root, 'node_modules', `.writ-bundle-test-${process.pid}-${name}`);
  cpSync(dist, folder, { recursive: true });
  return folder;
}

function cachesIn(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.cache'))
    .map((name) => join(folder, name));
}

/** Ways in which compiled code can fail to fit: each must cost time and nothing else. */
const MISFITS: Readonly<Record<string, (file: string) => void>> = {
  gone: (file) => rmSync(file),
  empty: (file) => writeFileSync(file, ''),
  'cut short': (file) => writeFileSync(file, readFileSync(file).subarray(0, 4_096)),
  'longer than it was': (file) => appendFileSync(file, 'x'),
  'with one bit turned': (file) => {
    const bytes = readFileSync(file);
    const middle = bytes.length >> 1;
    bytes[middle] = (bytes[middle] ?? 0) ^ 1;
    writeFileSync(file, bytes);
  },
  'zeroed behind its digest': (file) => writeFileSync(file, readFileSync(file).fill(0, 32)),
};

describe('the package', () => {
  it('holds the build, the defaults and nothing else', () => {
    const done = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root, encoding: 'utf8' });
    const [packed] = JSON.parse(done.stdout) as readonly { readonly files: readonly { readonly path: string }[] }[];
    const paths = packed?.files.map((file) => file.path) ?? [];
    expect(paths).toContain('dist/writ.cjs');
    for (const file of ['daily.part.cjs', 'main.part.cjs', 'rules.data']) expect(paths).toContain(`dist/${file}`);
    expect(paths.some((path) => path.startsWith('policies/defaults/hosts/'))).toBe(true);
    const other = paths.filter((path) => !path.startsWith('dist/') && !path.startsWith('policies/defaults/'));
    expect(other.filter((path) => !BESIDE.includes(path))).toEqual([]);
    const library = paths.filter((path) => path.startsWith('dist/lib/'));
    expect(library).toContain('dist/lib/index.js');
    expect(library).toContain('dist/lib/core.d.ts');
    expect(library.filter((path) => !/\.(?:js|d\.ts)$/.test(path))).toEqual([]);
    const built = paths.filter((path) => path.startsWith('dist/') && path !== 'dist/writ.cjs');
    expect(
      built.filter(
        (path) =>
          !library.includes(path) &&
          path !== 'dist/rules.data' &&
          !/^dist\/[a-z-]+\.(?:part\.cjs|[0-9a-f]{12}\.v[0-9.]+-[a-z0-9]+\.cache)$/.test(path),
      ),
    ).toEqual([]);
  });
});

describe('the command', () => {
  it('runs from another folder', () => {
    expect(run(join(dist, 'writ.cjs'), ['--version'])).toMatchObject({ status: 0, stdout: `${version}\n`, stderr: '' });
  });

  it('carries compiled code for what a check runs, for the Node that built it', () => {
    const names = cachesIn(dist).map((file) => file.slice(dist.length + 1).split('.')[0]);
    expect([...new Set(names)].sort()).toEqual([...WARMED].sort());
  });

  it('carries every name of zod that a schema uses', () => {
    const used = ['policy-file.ts', 'exceptions.ts'].flatMap((file) =>
      [...readFileSync(join(root, 'src', 'policy', file), 'utf8').matchAll(/\bz\.(?!infer\b|core\b)([a-zA-Z]+)/g)].map(
        (match) => match[1] ?? '',
      ),
    );
    const listed = /export \{ ([^}]+) \} from 'zod\/mini'/.exec(
      readFileSync(join(root, 'src', 'build', 'build.mjs'), 'utf8'),
    );
    expect([...new Set(used)].sort()).toEqual(listed?.[1]?.split(', ').sort());
  });

  it.each(Object.entries(MISFITS))('works alike with compiled code %s', (name, spoil) => {
    const workspace = join(base, 'workspace');
    mkdirSync(workspace, { recursive: true });
    writeFileSync(join(workspace, 'AGENTS.md'), '# Notes\n\nRun the tests.\n');
    const folder = copyOf(name.replaceAll(' ', '-'));
    try {
      const caches = cachesIn(folder);
      expect(caches.length).toBeGreaterThan(0);
      const args = ['check', '--root', workspace, '--format', 'json'];
      const before = run(join(folder, 'writ.cjs'), args);
      for (const file of caches) spoil(file);
      const after = run(join(folder, 'writ.cjs'), args);
      const plain = (text: string): string => text.replace(/"at": ?\d+/, '');
      expect({ ...after, stdout: plain(after.stdout) }).toMatchObject({
        status: before.status,
        stdout: plain(before.stdout),
        stderr: '',
      });
      expect(JSON.parse(after.stdout)).toMatchObject({ schema: 'writ.verdicts/1' });
      // Nothing is written beside the command while it runs.
      expect(cachesIn(folder).filter((file) => existsSync(file) && !caches.includes(file))).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('runs no code compiled from another build', () => {
    const folder = copyOf('other');
    try {
      const [main] = cachesIn(folder).filter((file) => file.includes('main.'));
      const entry = join(folder, 'writ.cjs');
      writeFileSync(entry, readFileSync(entry, 'utf8').replace(/main:"[0-9a-f]{12}"/, 'main:"000000000000"'));
      expect(main).toBeDefined();
      expect(readFileSync(entry, 'utf8')).toContain('main:"000000000000"');
      expect(run(entry, ['--version'])).toMatchObject({ status: 0, stdout: `${version}\n` });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
