import { finding } from '../model/codes.ts';
import { escapePath, escapeText } from '../model/escaped.ts';
import type { Finding } from '../model/finding.ts';
import type { Carrier } from '../model/manifest.ts';
import type { Claimed, Reading, Text } from '../model/stages.ts';
import { canonicalJson } from '../sign/canonical.ts';
import { sha256Hex } from '../sign/digest.ts';
import { parseStrictJson } from '../sign/strict-json.ts';
import { findHeadBlock, type HeadBlock, keysManifest, namesManifest } from './carrier.ts';
import { placeOf } from './decode.ts';
import { entryLines } from './entry.ts';
import { manifestDigestOf, toManifest } from './manifest.ts';
import { fieldPlace, jsonPlace, type Place, shiftBy, TOP } from './place.ts';
import { readPlainYaml, type YamlPlaces } from './plain-yaml.ts';
import { firstComment, MANIFEST_LIMITS, parseStrictYaml, type YamlFault } from './strict-yaml.ts';

/** Depth allowed in a JSON document that carries a manifest. */
const JSON_DEPTH = 64;

/** Reads the manifest inside a file. @returns null where it holds none; a reading with notes only where its front matter is merely sloppy. */
export async function readInside(path: string, bytes: Uint8Array, text: Text): Promise<Reading | null> {
  if (path.endsWith('.json')) return readJson(text.read(), 1);
  const head = findHeadBlock(bytes);
  if (head === null) return null;
  if ('fault' in head) return invalid(head.fault, { line: head.line, column: 1 });
  return head.kind === 'front-matter' ? readFrontMatter(bytes, head) : readComment(bytes, head);
}

/** Reads a JSON document, or one line of a board, that may carry the key; `line` is where it begins in its file. */
export function readJson(text: string, line: number): Reading | null {
  if (!namesManifest(text)) return null;
  const parsed = parseStrictJson(withoutBom(text), { maxDepth: JSON_DEPTH });
  if ('fault' in parsed) {
    return keysManifest(text) ? invalid(parsed.fault, { line: parsed.line + line - 1, column: parsed.column }) : null;
  }
  const document = parsed.value;
  if (typeof document !== 'object' || document === null || Array.isArray(document)) return null;
  if (!Object.hasOwn(document, 'context_manifest')) return null;
  const { context_manifest: value, ...rest } = document as Record<string, unknown>;
  const over = overLimits(value);
  if (over !== null) return invalid(over, { line, column: 1 });
  const content = canonicalJson(rest);
  const placeOfField = (field: string): Place => jsonPlace(text, field, line);
  return claim(value, {
    carrier: 'json',
    content,
    contentSha256: sha256Hex(content),
    sidecar: null,
    span: null,
    line: jsonPlace(text, 'context_manifest', line).line,
    placeOfField,
  });
}

/** Reads a sidecar: nothing but `context_manifest` may be in it, and the whole file is its content. */
export async function readSidecar(
  sidecar: { readonly path: string; readonly bytes: Uint8Array },
  text: string,
  file: { readonly text: Text; readonly sha256: string },
): Promise<Reading> {
  const fail = (why: string, place: Place): Reading => {
    const message = `The manifest in ${escapePath(sidecar.path)} cannot be read: ${why}.`;
    return {
      claimed: null,
      fault: finding('manifest-invalid', { message, ...place, file: sidecar.path }),
      notes: [],
      sidecar,
    };
  };
  const isJson = sidecar.path.endsWith('.json');
  const read = isJson ? sidecarJson(withoutBom(text)) : await readYaml(text, 1);
  if ('fault' in read) return fail(read.fault, read);
  const { value } = read;
  const wrong = notOnlyManifest(value, 'it');
  if (wrong !== null) return fail(wrong, TOP);
  const hidden = isJson ? null : await hiddenIn(text, 1);
  if (hidden) return fail(hidden.why, hidden);
  const over = isJson ? overLimits(manifestOf(value)) : null;
  if (over !== null) return fail(over, TOP);
  const reading = claim(manifestOf(value), {
    carrier: 'sidecar',
    content: file.text.read(),
    contentSha256: file.sha256,
    sidecar: sidecar.path,
    span: isJson ? null : { from: 0, to: sidecar.bytes.length },
    line: 1,
    placeOfField: isYaml(read) ? fieldPlace(read, 1) : (field) => jsonPlace(text, field, 1),
  });
  const { fault } = reading;
  const inSidecar = (one: Finding): Finding => ({
    ...one,
    message: one.message.replace(/^The manifest/, () => `The manifest in ${escapePath(sidecar.path)}`),
    file: sidecar.path,
  });
  if (fault) return { ...reading, fault: inSidecar(fault), sidecar };
  return { ...reading, notes: reading.notes.map(inSidecar), sidecar };
}

function isYaml(read: { readonly value: unknown } | YamlPlaces): read is YamlPlaces {
  return 'document' in read;
}

async function readYaml(text: string, firstLine: number): Promise<YamlPlaces | YamlFault> {
  return readPlainYaml(text) ?? parseStrictYaml(text, firstLine, MANIFEST_LIMITS);
}

function sidecarJson(text: string): { readonly value: unknown } | ({ readonly fault: string } & Place) {
  if (Buffer.byteLength(text) > MANIFEST_LIMITS.bytes)
    return { fault: `the block is over ${MANIFEST_LIMITS.bytes} bytes`, ...TOP };
  return parseStrictJson(text, { maxDepth: JSON_DEPTH });
}

async function readFrontMatter(bytes: Uint8Array, head: HeadBlock): Promise<Reading | null> {
  const read = await readYaml(head.yaml, head.firstLine);
  if ('fault' in read) {
    if (keysManifest(head.yaml)) return invalid(read.fault, read);
    const note = finding('front-matter-unreadable', {
      message: `The front matter is not valid YAML (${read.fault}); it names no manifest, so the file is taken as it is.`,
      line: read.line,
      column: read.column,
    });
    return { claimed: null, fault: null, notes: [note], sidecar: null };
  }
  const { value } = read;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, 'context_manifest')) return null;
  const entry = entryLines(read, head);
  if (entry === null)
    return invalid('write the manifest in block style, as an entry of its own', { line: head.firstLine, column: 1 });
  // Alone, the whole block is the carrier; beside other keys only the entry is, so that a change to any of them shows.
  const alone = Object.keys(value).length === 1;
  const hidden = await hiddenIn(
    alone ? head.yaml : slice(bytes, entry.from, entry.to),
    alone ? head.firstLine : entry.line,
  );
  if (hidden) return invalid(hidden.why, hidden);
  const content = alone ? restOf(bytes, 0, head.end) : restOf(bytes, entry.from, entry.to);
  return claim(manifestOf(value), {
    carrier: 'front-matter',
    content: content.text,
    contentSha256: content.sha256,
    sidecar: null,
    span: { from: entry.from, to: entry.to },
    line: entry.line,
    placeOfField: fieldPlace(read, head.firstLine),
  });
}

async function readComment(bytes: Uint8Array, head: HeadBlock): Promise<Reading | null> {
  if (!namesManifest(head.yaml)) return null;
  const read = await readYaml(head.yaml, head.firstLine);
  const top = { line: head.firstLine, column: 1 };
  if ('fault' in read) return keysManifest(head.yaml) ? invalid(read.fault, read) : null;
  const { value } = read;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, 'context_manifest')) return null;
  const wrong = notOnlyManifest(value, 'the comment');
  if (wrong !== null) return invalid(wrong, top);
  const hidden = (await hiddenIn(head.yaml, head.firstLine)) ?? earlyEnd(head.yaml, head.firstLine);
  if (hidden) return invalid(hidden.why, hidden);
  const content = restOf(bytes, 0, head.end);
  return claim(manifestOf(value), {
    carrier: 'comment',
    content: content.text,
    contentSha256: content.sha256,
    sidecar: null,
    span: { from: head.from, to: head.lineStarts.at(-1) ?? head.from },
    line: head.firstLine,
    placeOfField: fieldPlace(read, head.firstLine),
  });
}

/** Where a manifest was found, and what it leaves. */
interface Found {
  readonly carrier: Carrier;
  readonly content: string;
  readonly contentSha256: string;
  readonly sidecar: string | null;
  readonly span: Claimed['span'];
  readonly line: number;
  readonly placeOfField: (field: string) => Place;
}

function claim(value: unknown, found: Found): Reading {
  const { placeOfField, ...where } = found;
  const read = toManifest(value);
  if ('why' in read) return invalid(`${escapeText(read.field, 64)}: ${read.why}`, placeOfField(read.field));
  const { manifest, dialects } = read;
  const claimed: Claimed = { manifest, ...where, manifestDigest: manifestDigestOf(manifest, where.carrier) };
  const notes: Finding[] = [];
  const [first] = dialects;
  if (first !== undefined)
    notes.push(
      finding('manifest-dialect', {
        message: `The manifest spells ${[...new Set(dialects)].join(', ')} in a known dialect; it was normalised.`,
        ...placeOfField(first),
      }),
    );
  for (const field of Object.keys(manifest.unknown).sort()) {
    notes.push(
      finding('manifest-unknown-field', {
        message: `The manifest carries \`${field}\`, a field writ does not know; it is kept in the digest.`,
        ...placeOfField(field),
      }),
    );
  }
  return { claimed, fault: null, notes, sidecar: null };
}

function invalid(why: string, { line, column }: Place): Reading {
  return {
    claimed: null,
    fault: finding('manifest-invalid', { message: `The manifest cannot be read: ${why}.`, line, column }),
    notes: [],
    sidecar: null,
  };
}

function manifestOf(value: unknown): unknown {
  return (value as Readonly<Record<string, unknown>>).context_manifest;
}

/** Nothing may ride along in a carrier that is a manifest and nothing else. */
function notOnlyManifest(value: unknown, holder: string): string | null {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, 'context_manifest'))
    return `${holder} holds no context_manifest`;
  const [extra] = Object.keys(value).filter((key) => key !== 'context_manifest');
  return extra === undefined ? null : `${holder} holds \`${escapeText(extra, 64)}\` beside context_manifest`;
}

/** JSON has no block to cap before parsing, so its manifest is held to the same limits after. */
function overLimits(value: unknown): string | null {
  if (Buffer.byteLength(JSON.stringify(value) ?? '') > MANIFEST_LIMITS.bytes)
    return `the block is over ${MANIFEST_LIMITS.bytes} bytes`;
  return depthOf(value) >= MANIFEST_LIMITS.depth ? `nested deeper than ${MANIFEST_LIMITS.depth} levels` : null;
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

interface Hidden extends Place {
  readonly why: string;
}

/** What a person or a model could read in a block of YAML although it is no part of the manifest. */
async function hiddenIn(yaml: string, firstLine: number): Promise<Hidden | null> {
  const at = await firstComment(yaml);
  return at === null
    ? null
    : { why: 'a comment in a manifest is not allowed', ...shiftBy(placeOf(yaml, at), firstLine) };
}

/** Readers of HTML end the comment earlier than its last line: what follows would be text to them and manifest to us. */
function earlyEnd(yaml: string, firstLine: number): Hidden | null {
  const end = /--!?>/.exec(yaml);
  return end === null
    ? null
    : { why: 'the comment ends before its last line', ...shiftBy(placeOf(yaml, end.index), firstLine) };
}

function withoutBom(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

function slice(bytes: Uint8Array, from: number, to: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('utf8');
}

/** The bytes without one range, as text and digest. */
function restOf(bytes: Uint8Array, from: number, to: number): { readonly text: string; readonly sha256: string } {
  const rest = Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]);
  return { text: rest.toString('utf8'), sha256: sha256Hex(rest) };
}
