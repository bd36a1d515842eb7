import { finding } from '../model/codes.ts';
import { escapePath } from '../model/escaped.ts';
import type { Finding } from '../model/finding.ts';
import { type Bytes, type Candidate, type ReadResult, wasRead } from '../model/source.ts';
import type { Parsed, Reading, Staged, Text } from '../model/stages.ts';
import type { PostPredicate, Statement } from '../model/statement.ts';
import { sha256Hex } from '../sign/digest.ts';
import { toText } from './decode.ts';
import { handoffIn } from './handoff-envelope.ts';
import { readInside, readSidecar } from './readings.ts';

/** A sidecar beside a file, read once like the file. */
export interface SidecarRead {
  readonly path: string;
  readonly read: ReadResult;
}

type Fields = Omit<Parsed, keyof Staged<'parsed'>>;

/** The only place a `Parsed` is made. */
export function parsed(fields: Fields): Parsed {
  return fields as Parsed;
}

/**
 * Turns one read file into an artifact: text, content, every manifest found for it. Never throws to say no.
 * @param bytesOf the file's sha256 is taken over exactly these bytes; they are what loads.
 */
export async function parseArtifact(
  candidate: Candidate,
  result: ReadResult,
  sidecars: readonly SidecarRead[],
): Promise<Parsed> {
  if (!wasRead(result)) return unread(candidate, [result.finding]);
  const sha256 = sha256Hex(result.bytes);
  const found = placeFindings(candidate, result);
  const { bytes } = result;
  const text = toText(bytes);
  if ('finding' in text) return parsed({ ...blank(candidate, result, sha256), findings: [...found, text.finding] });
  const readings: Reading[] = [];
  const inside = candidate.kind === 'document' ? null : await readInside(candidate.path, bytes, text);
  if (inside) readings.push(inside);
  for (const sidecar of sidecars) readings.push(await sidecarReading(sidecar, { text, sha256 }));
  const read = parsed({ ...blank(candidate, result, sha256), text, readings, findings: found });
  // What carries a manifest is judged by it; an envelope is nobody's settings or law.
  const handoff =
    readings.length === 0 && candidate.kind === 'prose' && beginsAsObject(bytes) ? handoffIn(text.read()) : null;
  return handoff === null ? read : parsed({ ...read, handoff });
}

/** Told by the bytes: a text is not decoded once more to find that it is Markdown. */
function beginsAsObject(bytes: Uint8Array): boolean {
  let at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at += 1;
  return bytes[at] === 0x7b;
}

async function sidecarReading(
  sidecar: SidecarRead,
  file: { readonly text: Text; readonly sha256: string },
): Promise<Reading> {
  const refused = (why: Finding): Reading => ({
    claimed: null,
    fault: finding('manifest-invalid', { message: `${escapePath(sidecar.path)}: ${why.message}`, file: sidecar.path }),
    notes: [],
    sidecar: { path: sidecar.path, bytes: wasRead(sidecar.read) ? sidecar.read.bytes : new Uint8Array() },
  });
  if (!wasRead(sidecar.read)) return refused(sidecar.read.finding);
  const text = toText(sidecar.read.bytes);
  if ('finding' in text) return refused(text.finding);
  return readSidecar({ path: sidecar.path, bytes: sidecar.read.bytes }, text.read(), file);
}

/** An artifact whose bytes could not be had: it carries the finding that says why and nothing else. */
export function unread(candidate: Candidate, findings: readonly Finding[]): Parsed {
  return parsed({
    candidate,
    line: null,
    bytes: null,
    mode: 0,
    sha256: null,
    text: null,
    readings: [],
    aliasOf: null,
    post: null,
    findings,
  });
}

/** One line of a board as an artifact of its own (formats.md; WAJIB 8, chatboard). */
export function boardLine(
  candidate: Candidate,
  line: { readonly number: number; readonly bytes: Uint8Array; readonly text: string },
  speaks: { readonly reading: Reading | null; readonly post: Statement<PostPredicate> | null },
): Parsed {
  return parsed({
    candidate,
    line: line.number,
    bytes: line.bytes,
    mode: 0,
    sha256: sha256Hex(line.bytes),
    text: { read: () => line.text },
    readings: speaks.reading ? [speaks.reading] : [],
    aliasOf: null,
    post: speaks.post,
    findings: candidate.nested === null ? [] : [nested(candidate.nested)],
  });
}

function blank(candidate: Candidate, read: Bytes, sha256: string): Fields {
  return {
    candidate,
    line: null,
    bytes: read.bytes,
    mode: read.mode,
    sha256,
    text: null,
    readings: [],
    aliasOf: read.aliasOf,
    post: null,
    findings: [],
  };
}

/** What the place itself says, before a byte is read: links, names, whose tree it is. */
function placeFindings(candidate: Candidate, read: Bytes): readonly Finding[] {
  const found: Finding[] = [];
  if (candidate.outside) found.push(finding('outside-workspace'));
  if (candidate.nested !== null) found.push(nested(candidate.nested));
  if (candidate.confusableWith !== null) {
    found.push(
      finding('path-confusable', { message: `The name only looks like ${escapePath(candidate.confusableWith)}.` }),
    );
  }
  if (read.aliasOf !== null)
    found.push(finding('symlink-alias', { message: `It is a link to ${escapePath(read.aliasOf)}.` }));
  if (read.links > 1)
    found.push(
      finding('hard-linked', { message: `The file has ${read.links} hard links, so another path can change it.` }),
    );
  return found;
}

function nested(folder: string): Finding {
  return finding('nested-repository', {
    message: `It belongs to ${escapePath(folder)}, a dependency or a nested repository.`,
  });
}
