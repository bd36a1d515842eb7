import { type ArtifactClass, CLASSES } from '../model/artifact-class.ts';
import { isCodeName } from '../model/codes.ts';
import type { Finding } from '../model/finding.ts';
import { PRINCIPAL_NAME, ROLES, type Role } from '../model/role.ts';
import { isArtifactPath, RECORD_ID, SHA256 } from './layout.ts';

/** A finding as a record keeps it: no message, because a message may quote the text. */
export interface HeldFinding {
  readonly code: string;
  readonly line: number | null;
  readonly column: number | null;
}

/** A manifest that lay beside the artifact and was taken with it. */
export interface HeldSidecar {
  /** What its name adds to the artifact's. */
  readonly suffix: SidecarSuffix;
  readonly mode: number;
  /** Bare hex sha256 of its bytes. */
  readonly sha256: string;
  /** Its bytes, gzip, base64. */
  readonly data: string;
}

export const SIDECAR_SUFFIXES = ['.manifest.yaml', '.manifest.json'] as const;
export type SidecarSuffix = (typeof SIDECAR_SUFFIXES)[number];

/** One artifact taken from one path (formats.md, quarantine record). Holds no text of the artifact; its names are the only words an author chose. */
export interface QuarantineRecord {
  readonly schema: 'writ.quarantine/1';
  readonly id: string;
  /** Workspace-relative. */
  readonly path: string;
  /** Bare hex, of the exact bytes judged. */
  readonly sha256: string;
  readonly bytes: number;
  /** POSIX permission bits. */
  readonly mode: number;
  /** Where the path was a link: its target, base64 of UTF-8. */
  readonly link: string | null;
  readonly class: ArtifactClass | null;
  readonly findings: readonly HeldFinding[];
  /** Unix ms. */
  readonly at: number;
  readonly writer: { readonly principal: string; readonly role: Role } | null;
  readonly sidecars: readonly HeldSidecar[];
}

/** Largest record file read, bytes: room for two sidecars of a megabyte that do not compress. */
export const MAX_RECORD = 4 * 1024 * 1024;
const MAX_FINDINGS = 1_000;
const CODE = /^scan\/[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** The file's text; the only spelling `parseRecord` takes back. */
export function renderRecord(record: QuarantineRecord): string {
  return `${JSON.stringify(record, null, 2)}\n`;
}

/** Reads a record file as hostile input. @returns null unless it is, to the byte, what writ would have written. */
export function parseRecord(bytes: Uint8Array): QuarantineRecord | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    const record = toRecord(JSON.parse(text));
    return record !== null && renderRecord(record) === text ? record : null;
  } catch {
    return null;
  }
}

/** Keeps of findings what cannot quote the text. */
export function toHeldFindings(findings: readonly Finding[]): readonly HeldFinding[] {
  return findings.slice(0, MAX_FINDINGS).map(({ code, line, column }) => ({ code, line, column }));
}

/** Rebuilds the record field by field in writing order, so that an extra, missing or doubled key shows in the rendering. */
function toRecord(value: unknown): QuarantineRecord | null {
  if (!isObject(value)) return null;
  const { id, path, sha256, bytes, mode, link, at } = value;
  const writer = value.writer === null ? null : toWriter(value.writer);
  const findings = toList(value.findings, MAX_FINDINGS, toFinding);
  const sidecars = toList(value.sidecars, SIDECAR_SUFFIXES.length, toSidecar);
  if (!isText(id, RECORD_ID) || !isText(sha256, SHA256) || typeof path !== 'string' || !isArtifactPath(path))
    return null;
  if (!isCount(bytes) || !isMode(mode) || !isCount(at) || !(link === null || isText(link, BASE64))) return null;
  if (findings === null || sidecars === null || writer === undefined) return null;
  const cls = value.class === null ? null : CLASSES.find((name) => name === value.class);
  if (cls === undefined) return null;
  return {
    schema: 'writ.quarantine/1',
    id,
    path,
    sha256,
    bytes,
    mode,
    link,
    class: cls,
    findings,
    at,
    writer,
    sidecars,
  };
}

function toFinding(value: unknown): HeldFinding | null {
  if (!isObject(value)) return null;
  const { code, line, column } = value;
  if (typeof code !== 'string' || !(isCodeName(code) || CODE.test(code))) return null;
  if (!(line === null || isCount(line)) || !(column === null || isCount(column))) return null;
  return { code, line, column };
}

function toSidecar(value: unknown): HeldSidecar | null {
  if (!isObject(value)) return null;
  const { mode, sha256, data } = value;
  const suffix = SIDECAR_SUFFIXES.find((known) => known === value.suffix);
  if (suffix === undefined || !isMode(mode) || !isText(sha256, SHA256) || !isText(data, BASE64)) return null;
  return { suffix, mode, sha256, data };
}

function toWriter(value: unknown): { readonly principal: string; readonly role: Role } | undefined {
  if (!isObject(value)) return undefined;
  const { principal } = value;
  const role = ROLES.find((known) => known === value.role);
  return role !== undefined && isText(principal, PRINCIPAL_NAME) ? { principal, role } : undefined;
}

function toList<T>(value: unknown, max: number, toItem: (item: unknown) => T | null): readonly T[] | null {
  if (!Array.isArray(value) || value.length > max) return null;
  const items = value.map(toItem);
  const whole = items.filter((item) => item !== null);
  return whole.length === items.length ? whole : null;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown, pattern: RegExp): value is string {
  return typeof value === 'string' && pattern.test(value);
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function isMode(value: unknown): value is number {
  return isCount(value) && value <= 0o777;
}
