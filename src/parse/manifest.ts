import { type ArtifactClass, CLASSES, LEVELS, type Level } from '../model/artifact-class.ts';
import { excerpt } from '../model/escaped.ts';
import { type Instant, instantFromIso, instantFromMs } from '../model/instant.ts';
import type { Carrier, Manifest } from '../model/manifest.ts';
import { PRINCIPAL_NAME } from '../model/role.ts';
import { canonicalJson } from '../sign/canonical.ts';
import { sha256Hex } from '../sign/digest.ts';

/** Ids: sha256 hex, uuid, or a plain name of the same alphabet. */
export const ARTIFACT_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;
const HEX64 = /^[0-9a-f]{64}$/;
const COMMIT = /^[0-9a-f]{40}([0-9a-f]{24})?$/;
const LABEL = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;
const FIELD = /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/;
const LEVEL_WORDS: Readonly<Record<string, Level>> = { advisory: 'T1', binding: 'T2', constitutional: 'T3' };
const MAX_UNKNOWN = 2_048;

export interface ManifestFault {
  readonly field: string;
  readonly why: string;
}

export interface ManifestRead {
  readonly manifest: Manifest;
  /** Dialect spellings that were normalised, by field. */
  readonly dialects: readonly string[];
}

/**
 * Normalises the value of `context_manifest` (WAJIB 8; formats.md, dialects). Every field is a claim.
 * @returns the manifest, or the first field that breaks the schema. A date that cannot be parsed breaks it.
 */
export function toManifest(value: unknown): ManifestRead | ManifestFault {
  if (!isRecord(value)) return { field: 'context_manifest', why: 'it is not a mapping' };
  const dialects: string[] = [];
  const rest = { ...value };
  const faults: ManifestFault[] = [];
  const take = (field: string): unknown => {
    const found = Object.hasOwn(rest, field) ? rest[field] : undefined;
    delete rest[field];
    return found;
  };
  const fail = <T>(field: string, why: string, stand: T): T => {
    faults.push({ field, why });
    return stand;
  };
  const name = (field: string, pattern: RegExp, found: unknown): string | null => {
    if (found === undefined || found === null || found === '') return null;
    return typeof found === 'string' && pattern.test(found)
      ? found
      : fail(field, `${shown(found)} does not match its pattern`, null);
  };
  const required = (field: string, found: string | null): string => found ?? fail(field, 'it is missing', '');
  const instant = (field: string): Instant | null => {
    const found = take(field);
    if (found === undefined || found === null) return null;
    if (typeof found === 'string') {
      dialects.push(field);
      return instantFromIso(found) ?? fail(field, `${shown(found)} is not an ISO 8601 time that ends in Z`, null);
    }
    if (typeof found === 'number' && Number.isInteger(found) && String(Math.abs(found)).length === 10) {
      return fail(field, `${found} has 10 digits: that is seconds, and unix milliseconds are asked for`, null);
    }
    return (
      (typeof found === 'number' ? instantFromMs(found) : null) ??
      fail(field, `${shown(found)} is not a time in unix milliseconds`, null)
    );
  };
  const hash = (field: string, found: unknown): string | null => {
    if (found === undefined || found === null || found === '') return null;
    const bare = typeof found === 'string' ? found.replace(/^sha256:/, '').toLowerCase() : '';
    if (!HEX64.test(bare)) return fail(field, `${shown(found)} is not a sha256`, null);
    if (found !== `sha256:${bare}`) dialects.push(field);
    return bare;
  };

  const artifactId = required('artifact_id', name('artifact_id', ARTIFACT_ID, take('artifact_id')));
  const cls =
    toClass(take('class'), dialects) ?? fail<ArtifactClass>('class', 'it is none of the six classes', 'observation');
  const author = required('author', name('author', PRINCIPAL_NAME, take('author')));
  const sourceCommit = name('source_commit', COMMIT, take('source_commit'));
  const level =
    toLevel(take('authority_level'), dialects) ?? fail<Level>('authority_level', 'it is none of T1, T2, T3', 'T1');
  const approvedBy = name('approved_by', PRINCIPAL_NAME, take('approved_by'));
  const binding = take('binding') ?? false;
  if (typeof binding !== 'boolean') fail('binding', `${shown(binding)} is neither true nor false`, null);
  const createdAt =
    instant('created_at') ??
    (faults.some((fault) => fault.field === 'created_at') ? null : fail('created_at', 'it is missing', null));
  const expiresAt = instant('expires_at');
  const constitution = toConstitution(take('constitution_compatibility'), dialects, fail);
  const supersedes = toIds(take('supersedes'), dialects, fail);
  const contentHash = hash('content_hash', take('content_hash'));
  for (const [field, found] of Object.entries(rest)) {
    if (!FIELD.test(field)) fail(excerpt(field), 'the field name does not match its pattern', null);
    else if (!isBounded(found)) fail(field, 'an unknown field may hold at most 2,048 characters', null);
    else if (!isExact(found)) fail(field, 'it holds a number outside the range of exact integers', null);
  }
  const [fault] = faults;
  if (fault) return fault;
  return {
    dialects,
    manifest: {
      artifactId,
      class: cls,
      author,
      sourceCommit,
      level,
      approvedBy,
      binding: binding === true,
      createdAt: createdAt as Instant,
      expiresAt,
      constitution,
      supersedes,
      contentHash,
      unknown: rest,
    },
  };
}

/** Bare hex sha256 of the normalised manifest without `approved_by` and `binding`, with the carrier and every unknown field (formats.md). */
export function manifestDigestOf(manifest: Manifest, carrier: Carrier): string {
  return sha256Hex(
    canonicalJson({
      artifact_id: manifest.artifactId,
      author: manifest.author,
      authority_level: manifest.level,
      carrier,
      class: manifest.class,
      constitution_compatibility: manifest.constitution,
      content_hash: manifest.contentHash,
      created_at: manifest.createdAt,
      expires_at: manifest.expiresAt,
      source_commit: manifest.sourceCommit,
      supersedes: manifest.supersedes,
      unknown: manifest.unknown,
    }),
  );
}

type Fail = <T>(field: string, why: string, stand: T) => T;

function toClass(found: unknown, dialects: string[]): ArtifactClass | null {
  if (typeof found !== 'string') return null;
  const word = CLASSES.find((cls) => cls === found);
  if (word) return word;
  const folded = found.trim().toLowerCase().replace(/[ -]/g, '_');
  const dialect = CLASSES.find((cls) => cls === folded);
  if (!dialect) return null;
  dialects.push('class');
  return dialect;
}

function toLevel(found: unknown, dialects: string[]): Level | null {
  const level = LEVELS.find((known) => known === found);
  if (level) return level;
  const dialect = typeof found === 'string' && Object.hasOwn(LEVEL_WORDS, found) ? LEVEL_WORDS[found] : undefined;
  if (!dialect) return null;
  dialects.push('authority_level');
  return dialect;
}

function toConstitution(found: unknown, dialects: string[], fail: Fail): string | null {
  if (found === undefined || found === null || found === '') return null;
  const text = typeof found === 'string' ? found : '';
  const bare = text.replace(/^sha256:/, '').toLowerCase();
  if (HEX64.test(bare)) {
    if (text !== `sha256:${bare}`) dialects.push('constitution_compatibility');
    return `sha256:${bare}`;
  }
  if (!LABEL.test(text) || text.startsWith('sha256:'))
    return fail('constitution_compatibility', `${shown(found)} is neither a sha256 nor a label`, null);
  dialects.push('constitution_compatibility');
  return text;
}

function toIds(found: unknown, dialects: string[], fail: Fail): readonly string[] {
  if (found === undefined) return [];
  if (found === null || typeof found === 'string') dialects.push('supersedes');
  const list = found === null || found === '' ? [] : Array.isArray(found) ? (found as unknown[]) : [found];
  if (list.length > 64 || !list.every((id) => typeof id === 'string' && ARTIFACT_ID.test(id))) {
    return fail('supersedes', 'it is not a list of at most 64 artifact ids', []);
  }
  return [...new Set(list as string[])].sort();
}

function isBounded(value: unknown): boolean {
  return JSON.stringify(value ?? null).length <= MAX_UNKNOWN;
}

/** Two numbers that no digest could tell apart, or that JSON has no word for, would be a change nobody sees. */
function isExact(value: unknown): boolean {
  if (typeof value === 'number') return Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  return typeof value !== 'object' || value === null || Object.values(value).every(isExact);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function shown(value: unknown): string {
  return `\`${excerpt(typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing'))}\``;
}
