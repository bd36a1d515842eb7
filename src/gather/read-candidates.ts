import { sidecarsBeside } from '../discover/sidecars.ts';
import { readLines } from '../files/read-lines.ts';
import { readOnce, readOutside } from '../files/read-once.ts';
import type { WorkspaceRoot } from '../files/workspace-root.ts';
import { finding } from '../model/codes.ts';
import type { Finding } from '../model/finding.ts';
import { type Bytes, type Candidate, type HostUse, type ReadResult, wasRead } from '../model/source.ts';
import type { ImportFact, Parsed } from '../model/stages.ts';
import { parseBoard, type RawLine } from '../parse/board.ts';
import { parseArtifact, type SidecarRead, unread } from '../parse/parse.ts';
import { followImports } from './follow-imports.ts';

/** Largest sidecar, bytes; the manifest inside is capped far below. */
const SIDECAR_BYTES = 65_536;
/** Largest board read in segments, bytes. */
const BOARD_BYTES = 268_435_456;

export interface ReadInput {
  readonly root: WorkspaceRoot;
  readonly candidates: readonly Candidate[];
  /** Sidecars seen beside a file while searching. */
  readonly sidecars: ReadonlyMap<string, readonly string[]>;
  readonly fileBytes: number;
  /** The user's home, for imports that name it. */
  readonly home: string;
  /** Where the workspace lies; another folder than `root` for a tree laid out elsewhere. */
  readonly place: string;
  /** Bytes that stand in for what lies on disk. */
  readonly overlay: ReadonlyMap<string, Bytes>;
}

export interface ReadCandidates {
  readonly parsed: readonly Parsed[];
  readonly imports: ReadonlyMap<string, readonly ImportFact[]>;
  readonly findings: readonly Finding[];
  /** The candidates that were asked for, as they stand in `parsed`; what is there only because another imports it is none. */
  readonly asked: ReadonlySet<Candidate>;
}

/** Reads every candidate once, and what they import; the bytes read here are the only ones any later stage sees. */
export async function readCandidates(input: ReadInput): Promise<ReadCandidates> {
  const parsed: Parsed[] = [];
  const findings: Finding[] = [];
  const byPath = new Map<string, Parsed>();
  const take = async (candidate: Candidate): Promise<void> => {
    const read =
      candidate.kind === 'board'
        ? readBoardOrKept(input, candidate)
        : { artifacts: [await readFileOrKept(input, candidate)], findings: [] };
    findings.push(...read.findings);
    for (const one of read.artifacts) {
      parsed.push(one);
      if (one.line === null) byPath.set(one.candidate.path, one);
    }
  };
  for (const candidate of input.candidates) await take(candidate);
  const asked = new Set(input.candidates);
  const alsoUsed = (path: string, uses: Candidate['uses']): void => {
    const known = byPath.get(path);
    const added = known === undefined ? [] : uses.filter((use) => !isUsed(known.candidate, use));
    if (known === undefined || added.length === 0) return;
    const kept = known.candidate.uses.filter(({ host }) => added.every((use) => use.host !== host));
    const candidate = { ...known.candidate, uses: [...kept, ...added].sort((a, b) => (a.host < b.host ? -1 : 1)) };
    if (asked.has(known.candidate)) asked.add(candidate);
    const again = { ...known, candidate };
    parsed[parsed.indexOf(known)] = again;
    byPath.set(path, again);
  };
  const { root, home, place } = input;
  const imports = await followImports({ root, home, place, byPath, take, alsoUsed });
  return { parsed, imports, findings, asked };
}

/** Whether a host loads a file already, as early or earlier. */
function isUsed({ uses }: Candidate, use: HostUse): boolean {
  return uses.some(({ host, loads }) => host === use.host && (loads === use.loads || loads === 'launch'));
}

/** The artifact as it was read before, while the file and its sidecars are the ones they were. A link is always read: what it leads to has names of its own. */
async function readFileOrKept(input: ReadInput, candidate: Candidate): Promise<Parsed> {
  const { kept } = input.root;
  if (kept === undefined || input.overlay.size > 0) return readFile(input, candidate);
  const { path } = candidate;
  const files = candidate.outside
    ? [path]
    : [path, ...(input.sidecars.get(path) ?? sidecarsBeside(input.root.path, path))];
  const key = keyOf('file', candidate, input.fileBytes);
  const stamp = kept.stampOf(files);
  const known = kept.get<Parsed>(key, stamp);
  if (known !== undefined) return { ...known, candidate };
  const made = await readFile(input, candidate);
  // Why something could not be read may be over the next moment.
  const whole =
    made.bytes !== null && made.readings.every(({ sidecar }) => sidecar === null || sidecar.bytes.length > 0);
  kept.set(key, files, whole && made.aliasOf === null ? stamp : null, made);
  return made;
}

function readBoardOrKept(input: ReadInput, candidate: Candidate): ReturnType<typeof readBoard> {
  const { kept } = input.root;
  if (kept === undefined) return readBoard(input, candidate);
  const key = keyOf('board', candidate, input.fileBytes);
  const stamp = kept.stampOf([candidate.path]);
  const known = kept.get<ReturnType<typeof readBoard>>(key, stamp);
  if (known !== undefined) return { ...known, artifacts: known.artifacts.map((one) => ({ ...one, candidate })) };
  const made = readBoard(input, candidate);
  kept.set(key, [candidate.path], made.artifacts.some((one) => one.bytes === null) ? null : stamp, made);
  return made;
}

/** All that reading asks of a candidate, and the limit it is read under. */
function keyOf(what: string, { path, kind, nested, confusableWith, outside }: Candidate, fileBytes: number): string {
  // No path holds a NUL.
  return `${what}\0${path}\0${kind}\0${nested}\0${confusableWith}\0${outside}\0${fileBytes}`;
}

async function readFile(input: ReadInput, candidate: Candidate): Promise<Parsed> {
  const { root, fileBytes, overlay } = input;
  if (candidate.outside) return parseArtifact(candidate, readOutside(candidate.path, fileBytes), []);
  const result: ReadResult = overlay.get(candidate.path) ?? readOnce(root, candidate.path, fileBytes);
  return parseArtifact(candidate, result, wasRead(result) ? readSidecars(input, candidate.path, result.aliasOf) : []);
}

/** A file's own sidecars, and for an alias those of the file it leads to: one that somebody drops beside the link must not hide them. */
function readSidecars(input: ReadInput, path: string, aliasOf: string | null): readonly SidecarRead[] {
  const laid = [`${path}.manifest.yaml`, `${path}.manifest.json`].filter((name) => input.overlay.has(name));
  const own = input.sidecars.get(path) ?? sidecarsBeside(input.root.path, path);
  const names = [...new Set([...laid, ...own, ...(aliasOf === null ? [] : sidecarsBeside(input.root.path, aliasOf))])];
  return names.map((name) => ({
    path: name,
    read: input.overlay.get(name) ?? readOnce(input.root, name, SIDECAR_BYTES),
  }));
}

function readBoard(
  input: ReadInput,
  candidate: Candidate,
): { readonly artifacts: readonly Parsed[]; readonly findings: readonly Finding[] } {
  const lines: RawLine[] = [];
  for (const item of readLines(input.root, candidate.path, { maxLine: input.fileBytes, maxBytes: BOARD_BYTES })) {
    if ('finding' in item) return { artifacts: [unread(candidate, [item.finding])], findings: [] };
    lines.push(item);
  }
  const board = parseBoard(candidate, lines);
  return { artifacts: board.lines, findings: board.findings };
}

/** @returns a note for every sidecar that lies beside no file. */
export function orphanFindings(orphans: readonly string[]): readonly Finding[] {
  return orphans.map((path) =>
    finding('sidecar-orphan', { file: path, message: 'A sidecar manifest lies beside no file.' }),
  );
}
