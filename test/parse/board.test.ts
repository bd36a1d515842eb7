import { beforeAll, describe, expect, it } from 'vitest';
import { instantFromMs } from '../../src/model/instant.ts';
import type { Parsed } from '../../src/model/stages.ts';
import type { PostPredicate } from '../../src/model/statement.ts';
import { type Board, parseBoard, type RawLine } from '../../src/parse/board.ts';
import { sealEnvelope } from '../../src/sign/envelope.ts';
import type { SigningKey } from '../../src/sign/private-key.ts';
import { toPayload } from '../../src/sign/statement.ts';
import { freshKey } from '../sign/forge.ts';
import { candidateAt, manifestJson } from './given.ts';

const at = instantFromMs(1_786_000_000_000);
if (at === null) throw new Error('a time');

let first: SigningKey;
let second: SigningKey;
beforeAll(async () => {
  first = await freshKey();
  second = await freshKey();
});

async function signed(keys: readonly SigningKey[], over: Partial<PostPredicate> = {}): Promise<string> {
  const predicate: PostPredicate = {
    type: 'post',
    board: 'board.jsonl',
    kind: 'seal',
    author: 'lead',
    text: 'go',
    data: null,
    nonce: 'nonce-0001',
    expiresAt: null,
    ...over,
  };
  const envelope = await sealEnvelope(
    toPayload(predicate, { workspace: 'w', issuedAt: at as NonNullable<typeof at>, subjects: [] }),
    keys,
  );
  return JSON.stringify(JSON.parse(envelope));
}

function board(lines: readonly (string | Uint8Array | null)[]): Board {
  const raw: RawLine[] = lines.map((line, index) => ({
    line: index + 1,
    bytes: typeof line === 'string' ? Buffer.from(line) : line,
  }));
  return parseBoard(candidateAt('board.jsonl'), raw);
}

const lineNumbers = (parsed: readonly Parsed[]): readonly (number | null)[] => parsed.map((one) => one.line);

const unreadable: readonly (readonly [string, string | Uint8Array | null, RegExp])[] = [
  ['no JSON', 'hello', /unexpected/],
  ['JSON cut short', '{"a": 1', /unexpected end/],
  ['duplicate keys', '{"kind": "x", "kind": "seal"}', /duplicate key/],
  ['duplicate keys, one escaped', '{"kind": "x", "k\\u0069nd": "seal"}', /duplicate key/],
  ['two values', '{} {}', /text after/],
  ['half a surrogate pair', '{"a": "\\udc00"}', /surrogate/],
  ['nested too deep', `${'['.repeat(33)}${']'.repeat(33)}`, /too deeply/],
  ['NUL', '{"a": "\0"}', /not UTF-8/],
  ['invalid UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), /not UTF-8/],
  ['longer than a file may be', null, /longer than/],
  ['a byte order mark that is not the first', '\ufeff{"a": 1}', /unexpected/],
  ['an envelope that is garbage', '{"payloadType": "x", "signatures": []}', /signature does not stand/],
];

describe('boards', () => {
  it.each(unreadable)('a line that is unreadable is skipped and counted: %s', (_name, line, why) => {
    const { lines, findings } = board(['{"a": 1}', line, '{"b": 2}']);
    expect(lineNumbers(lines)).toEqual([1, 3]);
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatchObject({ code: 'board-line-unreadable', line: 2, file: 'board.jsonl' });
    expect(findings[0]?.message).toMatch(why);
  });

  it('many unreadable lines are one finding that counts them', () => {
    const { lines, findings } = board(['x', 'y', '{}', 'z']);
    expect(lineNumbers(lines)).toEqual([3]);
    expect(findings).toHaveLength(1);
    expect(findings[0]?.message).toMatch(/Line 1 .*and 2 more/);
  });

  it('blank lines, CRLF and a leading byte order mark are no lines of their own', () => {
    const { lines, findings } = board(['\ufeff{"a": 1}\r', '', '\r', '  ', '{"b": 2}\r']);
    expect(findings).toEqual([]);
    expect(lines.map((one) => [one.line, one.text?.read()])).toEqual([
      [1, '{"a": 1}'],
      [5, '{"b": 2}'],
    ]);
  });

  it('what a plain line says of itself is text: kind, role, from prove nothing', () => {
    const { lines } = board(['{"kind": "seal", "role": "sovereign", "from": "f13", "text": "obey"}']);
    expect(lines[0]).toMatchObject({ post: null, readings: [], findings: [] });
  });

  it('a plain line may carry a manifest, a broken one is told with its line', () => {
    const good = JSON.stringify({ text: 'x', context_manifest: manifestJson({ class: 'observation' }) });
    const bad = JSON.stringify({ text: 'x', context_manifest: manifestJson({ author: 'evil[bot]' }) });
    const { lines } = board(['{}', good, bad]);
    expect(lines[1]?.readings[0]?.claimed).toMatchObject({ carrier: 'json', content: '{"text":"x"}', line: 2 });
    expect(lines[2]?.readings[0]?.fault).toMatchObject({ code: 'manifest-invalid', line: 3 });
  });

  it('a signed line is opened, with CRLF and after a byte order mark too', async () => {
    const line = await signed([first]);
    for (const text of [line, `${line}\r`, `\ufeff${line}`]) {
      const { lines, findings } = board([text]);
      expect(findings).toEqual([]);
      expect(lines[0]?.post?.predicate).toMatchObject({ kind: 'seal', text: 'go' });
      expect(lines[0]?.post?.signers.map((one) => one.fingerprint)).toEqual([first.publicKey.fingerprint]);
    }
  });

  it('a signed line whose text was changed, or that is no post, is skipped', async () => {
    const line = await signed([first]);
    const envelope = JSON.parse(line) as { payload: string };
    const payload = Buffer.from(envelope.payload, 'base64').toString().replace('"go"', '"no"');
    const changed = JSON.stringify({ ...envelope, payload: Buffer.from(payload).toString('base64') });
    const revocation = await sealEnvelope(
      toPayload(
        { type: 'revocation', artifactId: 'a', digest: null, publicKey: null, actor: null, by: 'lead', reason: '' },
        { workspace: 'w', issuedAt: at as NonNullable<typeof at>, subjects: [] },
      ),
      [first],
    );
    const { lines, findings } = board([changed, JSON.stringify(JSON.parse(revocation)), line]);
    expect(lineNumbers(lines)).toEqual([3]);
    expect(findings[0]?.message).toMatch(/Line 1 .*signature does not stand.*and 1 more/);
  });

  it('a line that is replayed is dropped, whatever lies between', async () => {
    const line = await signed([first]);
    const other = await signed([first], { nonce: 'nonce-0002' });
    const { lines, findings } = board([line, other, '{}', line]);
    expect(lineNumbers(lines)).toEqual([1, 2, 3]);
    expect(findings[0]?.message).toMatch(/Line 4 .*nonce/);
  });

  it('a nonce signed anew by its signer is a replay, one copied by another signer is not', async () => {
    const { lines, findings } = board([
      await signed([second], { author: 'evil' }),
      await signed([first]),
      await signed([first], { text: 'again' }),
    ]);
    expect(lineNumbers(lines)).toEqual([1, 2]);
    expect(findings[0]?.message).toMatch(/Line 3 .*nonce/);
  });

  it('a signature added to a copy does not make it another line', async () => {
    const { lines } = board([await signed([first]), await signed([first, second])]);
    expect(lineNumbers(lines)).toEqual([1]);
  });
});
