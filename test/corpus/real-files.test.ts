import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openRoot } from '../../src/files/workspace-root.ts';
import { type Judgement, judge } from '../../src/gate.ts';
import type { Instant } from '../../src/model/instant.ts';
import type { Judged } from '../../src/model/stages.ts';

const REPO = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const CORPUS = join(REPO, '..', 'shared', 'corpus', 'dev-files.jsonl.gz');
const COMMAND = join(REPO, 'dist', 'writ.cjs');

interface Row {
  readonly repo: string;
  readonly kind: string;
  readonly path: string;
  readonly text: string;
}

interface Laid {
  readonly name: string;
  readonly dir: string;
  readonly rows: readonly Row[];
}

const there = existsSync(CORPUS);
if (!there) console.log(`skipped: ${CORPUS} is not here, so no real files are judged`);

/** One folder a repo; a path that comes in several versions gets a folder a version. */
function layOut(base: string, rows: readonly Row[]): readonly Laid[] {
  const versions = new Map<string, Row[]>();
  const seen = new Map<string, number>();
  for (const row of rows) {
    const key = `${row.repo} ${row.path}`;
    const version = (seen.get(key) ?? 0) + 1;
    seen.set(key, version);
    const name = `${row.repo.replaceAll('/', '--')}-${version}`;
    versions.set(name, [...(versions.get(name) ?? []), row]);
  }
  return [...versions].map(([name, laid]) => {
    const dir = join(base, name);
    for (const row of laid) {
      mkdirSync(dirname(join(dir, row.path)), { recursive: true });
      writeFileSync(join(dir, row.path), row.text);
    }
    return { name, dir, rows: laid };
  });
}

function judgeFolder(base: string, dir: string, paths: readonly string[] | null): Promise<Judgement> {
  return judge({
    root: openRoot(dir),
    repository: null,
    paths,
    places: {
      systemDir: join(base, 'etc'),
      configDir: join(base, 'config'),
      home: join(base, 'home'),
      moved: [],
      root: null,
    },
    state: { kind: 'none' },
    now: Date.now() as Instant,
    observe: false,
    overlay: new Map(),
    stateFault: null,
    onProgress: null,
  });
}

/** Where verdicts are due: one for a whole file, one a line of a board. */
function linesOf({ path, text }: Row): readonly (number | null)[] {
  if (!path.endsWith('.jsonl')) return [null];
  return text.split('\n').flatMap((line, index) => (line.trim() === '' ? [] : [index + 1]));
}

const pathOf = (one: Judged): string => one.evidence.parsed.candidate.path;
/** What any file without proof carries: no false alarm. */
const PLAIN: ReadonlySet<string> = new Set(['manifest-missing', 'board-kind-unproven', 'writer-unproven']);
const told = (one: Judged): readonly string[] =>
  one.findings.map((found) => `${pathOf(one)}: ${found.code}: ${found.message}`);

describe.skipIf(!there)('real agent files', () => {
  const base = mkdtempSync(join(tmpdir(), 'writ-corpus-'));
  const judged = new Map<string, { readonly named: Judgement; readonly whole: Judgement }>();
  let laid: readonly Laid[] = [];

  beforeAll(async () => {
    const rows = gunzipSync(readFileSync(CORPUS))
      .toString('utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Row);
    laid = layOut(base, rows);
    for (const { name, dir, rows: own } of laid) {
      const paths = own.map((row) => row.path);
      judged.set(name, { named: await judgeFolder(base, dir, paths), whole: await judgeFolder(base, dir, null) });
    }
  }, 180_000);

  afterAll(() => rmSync(base, { recursive: true, force: true }));

  it('are 797, and each has exactly one verdict, a board one a line', () => {
    const counted = laid.flatMap(({ name, rows }) =>
      rows.map((row) => ({
        path: `${name}/${row.path}`,
        lines: linesOf(row),
        verdicts: judged
          .get(name)
          ?.named.artifacts.filter((one) => pathOf(one) === row.path)
          .map((one) => one.evidence.parsed.line),
      })),
    );
    expect(counted).toHaveLength(797);
    for (const { path, lines, verdicts } of counted) expect(verdicts, path).toEqual(lines);
  });

  it('never fail to parse: no sloppy front matter, no example in prose, is taken for a broken manifest', () => {
    const broken = [...judged.values()]
      .flatMap(({ named, whole }) => [...named.artifacts, ...whole.artifacts])
      .filter((one) =>
        one.findings.some((found) => found.code === 'manifest-invalid' || found.code === 'manifest-ambiguous'),
      );
    expect(broken.flatMap(told)).toEqual([]);
  });

  it('are all read: none counts as unchecked', () => {
    const unchecked = [...judged.values()].flatMap(({ named }) => named.artifacts.filter((one) => one.unchecked));
    expect(unchecked.flatMap(told)).toEqual([]);
  });

  it('are none of them refused, and the scan doubts at most one in a hundred: a false alarm is a broken boot', () => {
    const all = [...judged.values()].flatMap(({ named, whole }) => [...named.artifacts, ...whole.artifacts]);
    expect(all.filter((one) => one.rank === 'quarantined').flatMap(told)).toEqual([]);
    const doubted = [...judged].flatMap(([name, { named }]) =>
      named.artifacts.flatMap((one) =>
        one.findings
          .filter((found) => found.effect !== 'note' && !PLAIN.has(found.code))
          .map((found) => `${name}/${pathOf(one)}:${found.line ?? ''} ${found.code}: ${found.message}`),
      ),
    );
    for (const line of doubted) console.log(`doubted: ${line}`);
    expect(doubted.length).toBeLessThanOrEqual(8);
  });

  it('give the same verdicts through the command', () => {
    const largest = [...laid].sort((a, b) => b.rows.length - a.rows.length)[0];
    if (!largest) throw new Error('no workspace was laid out');
    const env = { PATH: process.env.PATH ?? '', HOME: join(base, 'home'), WRIT_STATE: 'none' };
    const ran = spawnSync(process.execPath, [COMMAND, 'check', '--format', 'json', '--root', largest.dir], {
      cwd: largest.dir,
      env,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    });
    const { artifacts } = JSON.parse(ran.stdout) as { artifacts: { path: string; rank: string }[] };
    const whole = judged.get(largest.name)?.whole.artifacts ?? [];
    expect(artifacts.map(({ path, rank }) => `${path} ${rank}`)).toEqual(
      whole.map((one) => `${pathOf(one)} ${one.rank}`),
    );
    expect(ran.status).toBe(whole.some((one) => one.rank === 'quarantined') ? 1 : 0);
  });
});

describe('the manifest of the wild: an HTML comment at byte 0', () => {
  const base = mkdtempSync(join(tmpdir(), 'writ-wild-'));
  afterAll(() => rmSync(base, { recursive: true, force: true }));

  it('is recognised, with every spelling of its own noted', async () => {
    const created = new Date(Date.now() - 86_400_000).toISOString().replace(/\.\d+Z$/, 'Z');
    const expires = new Date(Date.now() + 6 * 86_400_000).toISOString().replace(/\.\d+Z$/, 'Z');
    const lines = [
      '<!--',
      'context_manifest:',
      '  artifact_id: next-init-of-our-test',
      '  class: operational_handoff',
      '  author: builder-9',
      '  authority_level: T1',
      '  approved_by: keeper',
      '  binding: false',
      `  created_at: ${created}`,
      `  expires_at: ${expires}`,
      '  constitution_compatibility: F1-F13-2026.05.05',
      '  supersedes: []',
      '  source_session: SEAL-0123456789abcdef',
      '  note: free words about how it came to be',
      '-->',
      '',
      '# What the next agent finds',
      '',
      'The importer runs; the exporter is half done.',
      '',
    ];
    const dir = join(base, 'ws');
    mkdirSync(join(dir, 'prompts'), { recursive: true });
    writeFileSync(join(dir, 'prompts', 'OUR_NEXT_INIT.md'), lines.join('\n'));
    const { artifacts } = await judgeFolder(base, dir, null);
    expect(artifacts).toHaveLength(1);
    const [one] = artifacts;
    expect(one?.declaredClass).toBe('operational_handoff');
    expect(one?.rank).toBe('reference');
    expect(one?.evidence.claimed?.carrier).toBe('comment');
    expect(one?.evidence.claimed?.content.startsWith('\n# What the next agent finds')).toBe(true);
    const codes = one?.findings.map((found) => found.code) ?? [];
    expect(codes).toContain('manifest-dialect');
    const dialect = one?.findings.find((found) => found.code === 'manifest-dialect');
    for (const field of ['created_at', 'expires_at', 'constitution_compatibility'])
      expect(dialect?.message).toContain(field);
    const unknown = one?.findings.filter((found) => found.code === 'manifest-unknown-field') ?? [];
    expect(unknown.map((found) => found.line)).toEqual([14, 13]);
    expect(codes).toContain('content-hash-missing');
    expect(codes).not.toContain('manifest-missing');
    expect(codes).not.toContain('manifest-invalid');
  });
});
