import { PRINCIPAL_NAME } from '../model/role.ts';
import { parsePublicKey } from './public-key.ts';

const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;
const BLANK_OR_HIDDEN = /[\s\p{C}]/u;

/** @returns whether a text is one line of 1 to `most` characters without control characters. */
export function isLine(text: string, most: number): boolean {
  return text.length >= 1 && text.length <= most && !CONTROL.test(text);
}

/** @returns whether a text may be a principal's or actor's name. */
export function isName(text: string): boolean {
  return PRINCIPAL_NAME.test(text);
}

/** @returns whether a text is a bare lower-case hex sha256. */
export function isDigest(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

/** @returns whether a text may be an artifact id; ids are compared exactly. */
export function isArtifactId(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/.test(text);
}

/** @returns whether a text is a UUID in its one spelling, lower case. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(text);
}

/** @returns whether a text may be a nonce: good for one use by its signer. */
export function isNonce(text: string): boolean {
  return /^[A-Za-z0-9+/=_.:-]{8,128}$/.test(text);
}

/** @returns whether a text is a full git object id of either format. */
export function isCommit(text: string): boolean {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text);
}

/** @returns whether a text is the fingerprint of an SSH key. */
export function isFingerprint(text: string): boolean {
  return /^SHA256:[A-Za-z0-9+/]{43}$/.test(text);
}

/** @returns whether a text is an accepted public key in its one spelling, `<type> <base64>`. */
export function isKeyLine(text: string): boolean {
  return parsePublicKey(text)?.line === text;
}

/** @returns whether a text is the hash of a constitution, `sha256:<hex>`, or a label that stands for one. */
export function isConstitution(text: string): boolean {
  return /^sha256:[0-9a-f]{64}$/.test(text) || (!text.startsWith('sha256:') && isLine(text, 128));
}

/** @returns whether a text may be a workspace id: no blanks, control or invisible characters. */
export function isWorkspace(text: string): boolean {
  return text.length >= 1 && text.length <= 256 && !BLANK_OR_HIDDEN.test(text);
}

/** @returns whether a text is a path relative to the workspace, `/` as separator: not absolute, no drive, no backslash, no empty, `.` or `..` step. Globs have the same form. */
export function isRelativePath(text: string): boolean {
  if (!isLine(text, 1024) || text.includes('\\') || /^[A-Za-z]:/.test(text)) return false;
  return text.split('/').every((step) => step !== '' && step !== '.' && step !== '..');
}
