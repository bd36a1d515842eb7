import { describe, expect, it } from 'vitest';
import { isEventStream, spokenOf } from '../../src/result/event-stream.ts';
import { parseResult } from '../../src/result/parse-result.ts';
import { type RunResult, STATUSES, toWire, WIRE_VERSION } from '../../src/result/run-result.ts';

const OK = { exitCode: 0, timedOut: false };
const empty: RunResult = {
  status: 'completed',
  summary: '',
  changed_files: [],
  tests_attempted: [],
  known_risks: [],
  needs_human_review: false,
};

function block(fields: unknown): string {
  return `\`\`\`json\n${JSON.stringify(fields, null, 2)}\n\`\`\`\n`;
}

function parsed(fields: Record<string, unknown>, ended = OK): RunResult {
  return parseResult(`I am done.\n\n${block({ status: 'completed', ...fields })}`, ended);
}

describe('the wire', () => {
  it('is version 1, and its bytes are frozen', () => {
    expect(WIRE_VERSION).toBe(1);
    const golden = toWire({
      needs_human_review: false,
      known_risks: ['traversal behavior on UNC paths untested'],
      tests_attempted: ['dotnet test → 174/174 passed'],
      changed_files: ['src/Store/PathFor.cs', 'tests/PathForTests.cs'],
      summary: 'Added null-guard to PathFor and a "regression" test.\n',
      status: 'completed',
    });
    expect(Buffer.from(golden).toString('latin1')).toBe(
      '{"status":"completed","summary":"Added null-guard to PathFor and a \\"regression\\" test.\\n","changed_files":["src/Store/PathFor.cs","tests/PathForTests.cs"],"tests_attempted":["dotnet test \u00e2\u0086\u0092 174/174 passed"],"known_risks":["traversal behavior on UNC paths untested"],"needs_human_review":false}',
    );
  });

  it('has five statuses', () => {
    expect(STATUSES).toEqual(['completed', 'failed', 'timed_out', 'rate_limited', 'approval_required']);
  });

  it('spells out what turns text around, and leaves emoji as they are', () => {
    const wire = toWire({ ...empty, summary: 'a\u202eb\u009b⚠️ 👩‍💻\u2028' });
    expect(wire).toContain('a\\u202eb\\u009b⚠️ 👩‍💻\\u2028');
    expect(JSON.parse(wire).summary).toBe('a\u202eb\u009b⚠️ 👩‍💻\u2028');
  });

  it('drops what is no field of it', () => {
    expect(Object.keys(JSON.parse(toWire({ ...empty, extra: 1 } as unknown as RunResult)))).toEqual(Object.keys(empty));
  });
});

describe('FLT-2 parsing rule 1: the last fenced json block with a status', () => {
  it('takes the last of several', () => {
    expect(parseResult(block({ status: 'failed' }) + block({ status: 'approval_required' }), OK).status).toBe(
      'approval_required',
    );
  });
  it('passes over a later fenced json block without a status', () => {
    expect(parseResult(block({ status: 'failed' }) + block({ state: 'completed' }), OK).status).toBe('failed');
  });
  it('passes over a later one that has a status and does not parse, for the one before it', () => {
    expect(parseResult(`${block({ status: 'failed' })}\`\`\`json\n{"status": "completed",}\n\`\`\`\n`, OK).status).toBe(
      'failed',
    );
  });
  it('passes over fenced json that is no object', () => {
    expect(parseResult(block({ status: 'failed' }) + block(['status']) + block('status'), OK).status).toBe('failed');
  });
  it('does not take a fenced block of another language', () => {
    expect(parseResult('```yaml\n{"status":"failed"}\n```\n', OK)).toMatchObject({
      status: 'completed',
      needs_human_review: true,
    });
  });
  it('lets a fence beat a later bare object', () => {
    expect(parseResult(`${block({ status: 'failed' })}\n{"status":"completed"}\n`, OK).status).toBe('failed');
  });
  it('does not take an example within a longer fence', () => {
    expect(
      parseResult(`${block({ status: 'failed' })}\`\`\`\`markdown\n${block({ status: 'completed' })}\`\`\`\`\n`, OK)
        .status,
    ).toBe('failed');
  });
  it.each([
    ['JSON', '```JSON\n{"status":"failed"}\n```'],
    ['a space', '``` json\n{"status":"failed"}\n```'],
    ['tildes', '~~~json\n{"status":"failed"}\n~~~'],
    ['CRLF', '```json\r\n{"status":"failed"}\r\n```\r\n'],
    ['indentation', '1. Result:\n      ```json\n      {"status":"failed"}\n      ```'],
    ['more words', '```json result\n{"status":"failed"}\n```'],
    ['longer marks', '`````json\n{"status":"failed"}\n`````'],
    ['no end', '```json\n{"status":"failed"}'],
    ['no end and words behind', '```json\n{"status":"failed"}\nDone.'],
    ['an earlier block that nobody closed', 'see\n```\nlog\n```json\n{"status":"failed"}\n```\n'],
    ['a byte order mark', '\ufeff```json\n\ufeff{"status":"failed"}\n```'.slice(1)],
    ['an escaped key', '```json\n{"st\\u0061tus":"failed"}\n```'],
  ])('is found with %s', (_, output) => {
    expect(parseResult(output, OK)).toEqual({ ...empty, status: 'failed' });
  });
});

describe('FLT-2 parsing rule 2: else the last bare top-level object with a status', () => {
  it('takes the last one that parses', () => {
    expect(
      parseResult('first {"status":"completed"}\nthen {"status":"failed"} and {"status": nope} {"x":1}', OK).status,
    ).toBe('failed');
  });
  it('takes one over several lines', () => {
    expect(parseResult(`done\n${JSON.stringify({ ...empty, status: 'failed' }, null, 2)}\nbye`, OK).status).toBe(
      'failed',
    );
  });
  it.each([
    ['nested in another', '{"result":{"status":"failed"}}'],
    ['nested in braces of code', 'function f() { return {"status":"failed"} }'],
    ['in a string', 'it said "{"status":"failed"}" to me'],
    ['in a fence of another language', '```text\n{"status":"failed"}\n```'],
    ['an array around it', '["{\\"status\\":\\"failed\\"}"]'],
  ])('is not one that is %s', (_, output) => {
    expect(parseResult(output, OK)).toMatchObject({ status: 'completed', needs_human_review: true });
  });
  it.each([
    ['a stray brace before it', 'if (x) {\n  broken\n{"status":"failed"}'],
    ['stray braces after it', '{"status":"failed"}\n}}} {'],
    ['a stray quote on a line before it', 'a 5" disk\n{"status":"failed"}'],
    ['an inline fence around it', '```json {"status":"failed"} ```'],
    ['braces in its strings', '{"status":"failed","summary":"}{ \\" }"}'],
  ])('survives %s', (_, output) => {
    expect(parseResult(output, OK).status).toBe('failed');
  });
});

describe('FLT-2 parsing rule 3: unknown status strings', () => {
  it.each(['done', 'success', 'complete', 'completed!', 'timed out', '', 'COMPLETED\u0000'])(
    '%j is failed',
    (status) => {
      expect(parsed({ status })).toEqual({ ...empty, status: 'failed' });
    },
  );
  it.each([null, true, 1, ['completed'], { completed: true }])('%j, which is no string, is failed', (status) => {
    expect(parsed({ status }).status).toBe('failed');
  });
  it('trims and lower-cases before it compares', () => {
    expect(parsed({ status: ' \tCompleted\n' }).status).toBe('completed');
    expect(parsed({ status: 'APPROVAL_REQUIRED' }).status).toBe('approval_required');
  });
});

describe('FLT-2 parsing rule 4: fields', () => {
  it('drops unknown ones', () => {
    expect(parsed({ cost: 3, status_note: 'x' })).toEqual(empty);
  });
  it('has empty lists and no review where nothing is said', () => {
    expect(parsed({})).toEqual(empty);
  });
  it('stringifies items that are no strings', () => {
    expect(parsed({ tests_attempted: ['a', 1, null, { b: 2 }, [true]] }).tests_attempted).toEqual([
      'a',
      '1',
      'null',
      '{"b":2}',
      '[true]',
    ]);
  });
  it('makes one item of a lone string, none of null', () => {
    expect(parsed({ known_risks: 'careful', tests_attempted: null, changed_files: 'a.ts' })).toMatchObject({
      known_risks: ['careful'],
      tests_attempted: [],
      changed_files: ['a.ts'],
    });
  });
  it.each(['true', 1, 'yes', [true], {}, null, false])('needs_human_review is not true for %j', (claim) => {
    expect(parsed({ needs_human_review: claim }).needs_human_review).toBe(false);
  });
  it('needs_human_review is true for true, whatever the status', () => {
    for (const status of STATUSES) expect(parsed({ status, needs_human_review: true }).needs_human_review).toBe(true);
  });
  it('a null summary is the empty string, a number is written out', () => {
    expect(parsed({ summary: null }).summary).toBe('');
    expect(parsed({ summary: 5 }).summary).toBe('5');
  });
  it.each([
    ['/etc/passwd', 'an absolute path'],
    ['C:/x', 'an absolute path'],
    ['~/x', 'an absolute path'],
    ['../x', 'a path that leaves its folder'],
    ['a/../../x', 'a path that leaves its folder'],
    ['src\\a.cs', 'a path with a backslash'],
    ['', 'an empty path'],
  ])('changed_files: %j becomes a risk', (path, why) => {
    expect(parsed({ changed_files: ['a.ts', path], known_risks: ['r'] })).toMatchObject({
      changed_files: ['a.ts'],
      known_risks: ['r', `changed_files names ${why}: ${path}`],
    });
  });
  it('changed_files: dots within names stay', () => {
    expect(parsed({ changed_files: ['a..b', '.github/x', './y', '...'] }).changed_files).toEqual([
      'a..b',
      '.github/x',
      './y',
      '...',
    ]);
  });
  it('a field named twice asks for a human, whichever of the two is taken', () => {
    const result = parseResult(
      '{"status":"failed","status":"completed","needs_human_review":true,"needs_human_review":false}',
      OK,
    );
    expect(result.needs_human_review).toBe(true);
    expect(result.known_risks).toEqual(['the result block names a field twice: the last one was taken']);
  });
});

describe('FLT-2 parsing rule 5: a nonzero exit and a completed claim', () => {
  it('is failed, with the risk named and a human asked for', () => {
    expect(parsed({ known_risks: ['r'] }, { exitCode: 1, timedOut: false })).toEqual({
      ...empty,
      status: 'failed',
      known_risks: ['r', 'CLI exited 1 despite completed claim'],
      needs_human_review: true,
    });
  });
  it('a null exit code (killed) counts as nonzero', () => {
    expect(parsed({}, { exitCode: null as unknown as number, timedOut: false })).toMatchObject({
      status: 'failed',
      known_risks: ['CLI was killed despite completed claim'],
      needs_human_review: true,
    });
  });
  it.each(['approval_required', 'rate_limited', 'failed', 'timed_out'])('%s stays as it is', (status) => {
    expect(parsed({ status }, { exitCode: 3, timedOut: false })).toEqual({ ...empty, status });
  });
});

describe('FLT-2 parsing rule 6: no block at all', () => {
  it('exit 0 is completed, with the tail, a note, and a human asked for', () => {
    expect(parseResult('all fine\n', OK)).toEqual({
      ...empty,
      summary: 'all fine\n',
      known_risks: ['the output holds no result block: what was done is not known'],
      needs_human_review: true,
    });
  });
  it('every other exit is failed', () => {
    expect(parseResult('oops', { exitCode: 1, timedOut: false })).toEqual({
      ...empty,
      status: 'failed',
      summary: 'oops',
    });
    expect(parseResult('oops', { exitCode: null, timedOut: false }).status).toBe('failed');
  });
  it('the tail is the last 2,000 characters, none cut in two', () => {
    expect(parseResult(`x${'ab'.repeat(1_000)}`, OK).summary).toBe('ab'.repeat(1_000));
    expect(Array.from(parseResult('👩'.repeat(3_000), OK).summary)).toEqual(Array(2_000).fill('👩'));
  });
  it.each([
    'Error: rate limit exceeded',
    '{"type":"error","error":{"type":"rate_limit_error"}}',
    'HTTP 429',
    '429 Too Many Requests',
    'Claude AI usage limit reached|1790000000',
    "You've hit your limit - resets 7pm (Asia/Tokyo)",
    "You've reached your 5-hour limit",
    'RESOURCE_EXHAUSTED: quota',
    'insufficient_quota',
    '5-hour limit reached ∙ resets 3pm',
  ])('%j is rate_limited, whatever the exit', (output) => {
    for (const exitCode of [0, 1, null])
      expect(parseResult(output, { exitCode, timedOut: false }).status).toBe('rate_limited');
  });
  it.each(['expected 429 tests', 'recursion limit reached', 'line 429', 'a generated limit', 'accurate limits'])(
    '%j is not',
    (output) => {
      expect(parseResult(output, { exitCode: 1, timedOut: false }).status).toBe('failed');
    },
  );
  it('markers count only where there is no block', () => {
    expect(parseResult(`I wrote the rate limiter.\n${block({ status: 'completed' })}`, OK)).toEqual(empty);
  });
});

describe('a timeout of the host', () => {
  it.each(STATUSES)('beats the claim %s', (status) => {
    expect(parsed({ status }, { exitCode: 0, timedOut: true }).status).toBe('timed_out');
  });
  it('keeps what was claimed, and doubts a claim of success', () => {
    expect(parsed({ summary: 's', changed_files: ['a'] }, { exitCode: 0, timedOut: true })).toEqual({
      ...empty,
      status: 'timed_out',
      summary: 's',
      changed_files: ['a'],
      known_risks: ['killed at the timeout despite completed claim'],
      needs_human_review: true,
    });
  });
  it('beats markers of a rate limit, and the summary is the tail', () => {
    expect(parseResult('rate limit', { exitCode: null, timedOut: true })).toEqual({
      ...empty,
      status: 'timed_out',
      summary: 'rate limit',
    });
  });
});

describe('a stream of events', () => {
  const event = (value: unknown): string => `${JSON.stringify(value)}\n`;
  const started = event({ type: 'thread.started', thread_id: 't' });
  const says = (text: string): string =>
    event({ type: 'item.completed', item: { id: 'i', type: 'agent_message', text } });

  it('is told from text', () => {
    expect(isEventStream(started)).toBe(true);
    expect(isEventStream('{"status":"failed"}')).toBe(false);
    expect(isEventStream('done')).toBe(false);
  });
  it('gives what the agent said, not what tools printed', () => {
    const tool = event({
      type: 'item.completed',
      item: { type: 'command_execution', status: 'completed', aggregated_output: block({ status: 'completed' }) },
    });
    expect(parseResult(spokenOf(started + says(`Done.\n${block({ status: 'failed' })}`) + tool), OK).status).toBe(
      'failed',
    );
  });
  it('gives errors where there is no block', () => {
    const failed = event({ type: 'turn.failed', error: { message: 'rate limit reached for this organization' } });
    expect(parseResult(spokenOf(started + says('Working.') + failed), { exitCode: 1, timedOut: false }).status).toBe(
      'rate_limited',
    );
  });
  it('errors cannot say what the agent did not', () => {
    const failed = event({ type: 'error', message: `rate limit\n${block({ status: 'completed' })}` });
    expect(parseResult(spokenOf(started + says(block({ status: 'failed' })) + failed), OK).status).toBe('failed');
  });
  it('a line that is no event is a word of the agent', () => {
    expect(parseResult(spokenOf(`warning: x\n${block({ status: 'failed' })}`), OK).status).toBe('failed');
  });
});
