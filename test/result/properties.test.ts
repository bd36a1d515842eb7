import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { spokenOf } from '../../src/result/event-stream.ts';
import { parseResult } from '../../src/result/parse-result.ts';
import { STATUSES, toWire } from '../../src/result/run-result.ts';

const piece = fc.constantFrom(
  ...[
    '```json\n',
    '```\n',
    '````\n',
    '~~~json\n',
    '```',
    '\n',
    '\r\n',
    '{',
    '}',
    '"',
    '\\',
    '\\"',
    '[',
    ']',
    ',',
    ':',
    ' ',
  ],
  ...[
    '"status"',
    '"completed"',
    '{"status":"completed"}',
    '{"status":"failed","needs_human_review":true}',
    'rate limit',
  ],
  ...['{"type":"item.completed","item":{"type":"agent_message","text":"x"}}', '\ud800', '\u0000', '\ufeff', 'null'],
);
const output = fc.array(fc.oneof(piece, fc.string({ maxLength: 6 })), { maxLength: 24 }).map((parts) => parts.join(''));
const ended = fc.record({ exitCode: fc.constantFrom(0, 1, 255, -1, null), timedOut: fc.boolean() });

describe('whatever an agent prints', () => {
  it('comes to one object of the contract, and no claim beats what the host saw', () => {
    fc.assert(
      fc.property(output, ended, (text, seen) => {
        for (const read of [text, spokenOf(text)]) {
          const result = parseResult(read, seen);
          expect(STATUSES).toContain(result.status);
          if (seen.timedOut) expect(result.status).toBe('timed_out');
          else if (seen.exitCode !== 0) expect(result.status).not.toBe('completed');
          for (const list of [result.changed_files, result.tests_attempted, result.known_risks])
            for (const item of list) expect(typeof item).toBe('string');
          const wire = toWire(result);
          expect(wire).not.toMatch(/[\n\r]/);
          expect(JSON.parse(Buffer.from(wire).toString('utf8'))).toEqual(JSON.parse(wire));
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('a value of any shape in the block comes to one object', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.constantFrom(
            'status',
            'summary',
            'changed_files',
            'tests_attempted',
            'known_risks',
            'needs_human_review',
            '__proto__',
            'constructor',
          ),
          fc.jsonValue(),
        ),
        (fields) => {
          const result = parseResult(`\`\`\`json\n${JSON.stringify({ status: 'completed', ...fields })}\n\`\`\``, {
            exitCode: 0,
            timedOut: false,
          });
          expect(STATUSES).toContain(result.status);
          expect(result.needs_human_review).toBe(fields.needs_human_review === true);
          expect(typeof result.summary).toBe('string');
        },
      ),
    );
  });

  it('prose before the block and after it changes nothing', () => {
    const said = '```json\n{"status":"approval_required","summary":"drop the table?"}\n```\n';
    const prose = fc.string().map((text) => text.replace(/[`~]/g, ''));
    fc.assert(
      fc.property(prose, prose, (before, after) => {
        expect(parseResult(`${before}\n${said}${after}`, { exitCode: 0, timedOut: false }).summary).toBe(
          'drop the table?',
        );
      }),
    );
  });

  // Quadratic work on these would take hours, so the time a test may take is the measure.
  it.each([
    ['braces', '{'.repeat(10_000_000)],
    ['closing braces', '}'.repeat(10_000_000)],
    ['pairs of braces', '{}'.repeat(5_000_000)],
    ['nested objects without an end', '{"status":'.repeat(1_000_000)],
    ['objects that do not parse', '{"status": x  }'.repeat(300_000)],
    ['quotes', '"'.repeat(10_000_000)],
    ['backslashes', '"\\'.repeat(5_000_000)],
    ['fences within fences', '```json\n{"status":\n'.repeat(500_000)],
    ['a fence of ten million marks', '`'.repeat(10_000_000)],
    ['white space', ' '.repeat(10_000_000)],
    ['empty lines', '\n'.repeat(10_000_000)],
    [
      'an array as deep as the text',
      `{"status":"completed","summary":${'['.repeat(4_000_000)}${']'.repeat(4_000_000)}}`,
    ],
    ['halves of markers', 'too many reques rate '.repeat(500_000)],
  ])('10 MB of %s end', { timeout: 300_000 }, (_, text) => {
    for (const read of [text, spokenOf(text)])
      expect(STATUSES).toContain(parseResult(read, { exitCode: 0, timedOut: false }).status);
  });
});
