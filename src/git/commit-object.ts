/** What a commit object says, taken apart strictly. */
export interface CommitObject {
  readonly tree: string;
  readonly parents: readonly string[];
  /** Unix ms of the committer line, which the committer chooses: never the only bound on a signature. */
  readonly committedAt: number;
  /** The armored SSH signature, or null where there is none, more than one, or one of another kind. */
  readonly signature: string | null;
  /** The exact bytes the signature was made over: the commit without its signature header. */
  readonly payload: Uint8Array;
}

const LF = 10;
const SPACE = 32;

/**
 * Takes the bytes of a commit object apart. Null where the headers are not in git's order, hold a NUL, or a date is unreadable: such a commit proves nothing.
 * `idLength` is 40, or 64 with sha256.
 */
export function parseCommit(bytes: Buffer, idLength: number): CommitObject | null {
  const headers = headersOf(bytes);
  if (headers === null) return null;
  const hex = `([0-9a-f]{${idLength}})`;
  const tree = new RegExp(`^tree ${hex}$`).exec(headers[0]?.text ?? '')?.[1];
  if (tree === undefined) return null;
  const parent = new RegExp(`^parent ${hex}$`);
  const parents: string[] = [];
  let at = 1;
  for (let id = parent.exec(headers[at]?.text ?? ''); id !== null; id = parent.exec(headers[at]?.text ?? '')) {
    parents.push(id[1] ?? '');
    at += 1;
  }
  if (!headers[at]?.text.startsWith('author ')) return null;
  const seconds = /^committer [^\n]*> (\d{1,12}) [+-]\d{4}$/.exec(headers[at + 1]?.text ?? '')?.[1];
  if (seconds === undefined) return null;
  const rest = headers.slice(at + 2);
  if (rest.some(({ text }) => /^(?:tree|parent|author|committer) /.test(text))) return null;
  const signatures = rest.filter(({ text }) => text.startsWith('gpgsig'));
  return {
    tree,
    parents,
    committedAt: Number(seconds) * 1_000,
    signature: signatures.length === 1 ? sshSignature(signatures[0]?.text ?? '', idLength) : null,
    payload: without(bytes, signatures),
  };
}

interface Header {
  /** With its continuation lines, without the last LF. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

function headersOf(bytes: Buffer): Header[] | null {
  const headers: Header[] = [];
  for (let start = 0; start < bytes.length && bytes[start] !== LF; ) {
    let end = bytes.indexOf(LF, start);
    while (end !== -1 && bytes[end + 1] === SPACE) end = bytes.indexOf(LF, end + 1);
    if (end === -1) return null;
    const text = bytes.toString('latin1', start, end);
    if (text.includes('\0')) return null;
    headers.push({ text, start, end: end + 1 });
    start = end + 1;
  }
  return headers;
}

function sshSignature(header: string, idLength: number): string | null {
  const name = idLength === 64 ? 'gpgsig-sha256 ' : 'gpgsig ';
  if (!header.startsWith(name)) return null;
  const armor = `${header.slice(name.length).replaceAll('\n ', '\n').trimEnd()}\n`;
  const isSsh =
    armor.startsWith('-----BEGIN SSH SIGNATURE-----\n') && armor.endsWith('\n-----END SSH SIGNATURE-----\n');
  return isSsh ? armor : null;
}

function without(bytes: Buffer, cuts: readonly Header[]): Buffer {
  const parts: Buffer[] = [];
  let start = 0;
  for (const cut of cuts) {
    parts.push(bytes.subarray(start, cut.start));
    start = cut.end;
  }
  return Buffer.concat([...parts, bytes.subarray(start)]);
}
