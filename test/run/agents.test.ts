import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { AGENTS } from '../../src/run/agent-profile.ts';
import { Field, say } from './given.ts';

// Each run is a process with processes of its own, and the machine may be busy.
vi.setConfig({ testTimeout: 300_000 });

const opened: Field[] = [];
afterEach(() => {
  for (const one of opened.splice(0)) one.remove();
});
function field(): Field {
  const made = new Field();
  opened.push(made);
  return made;
}

/** Writes down its words, one a file, and reads its stdin to the end: with an open one it would hang. */
const LISTEN =
  'i=0; for word in "$@"; do printf %s "$word" > "$OUT/word-$i"; i=$((i+1)); done; cat > "$OUT/stdin"; pwd > "$OUT/pwd"; env > "$OUT/env"';

function wordsOf(at: Field): readonly string[] {
  const words: string[] = [];
  for (;;) {
    try {
      words.push(readFileSync(join(at.out, `word-${words.length}`), 'utf8'));
    } catch {
      return words;
    }
  }
}

describe('the agents, as data', () => {
  it('are five, each with a source', () => {
    expect(AGENTS.map((one) => one.name)).toEqual(['claude', 'codex', 'agy', 'grok', 'ollama']);
    for (const one of AGENTS)
      expect(one).toMatchObject({ source: expect.any(String), at: expect.stringMatching(/^\d{4}-/) });
  });

  it('claude: -p PROMPT, behind what its host profile sets; stdin is closed', () => {
    const at = field();
    at.agent('claude', `${LISTEN}\n${say({ summary: 'ok' })}`);
    const ran = at.task(['--agent', 'claude']);
    expect([ran.exit, ran.result.status, ran.result.summary]).toEqual([0, 'completed', 'ok']);
    const words = wordsOf(at);
    expect(words).toContain('--setting-sources=');
    expect(words.at(-2)).toBe('-p');
    expect(words.at(-1)).toMatch(/^Add a guard\.\n.*fenced json block.*"needs_human_review"/s);
    expect(at.told('stdin')).toBe('');
  });

  it('codex: exec --json PROMPT, read from its events', () => {
    const at = field();
    const text = '```json\\n{\\"status\\":\\"completed\\",\\"summary\\":\\"from events\\"}\\n```';
    at.agent(
      'codex',
      `${LISTEN}\ncat <<'E'\n{"type":"thread.started","thread_id":"1"}\n{"type":"item.completed","item":{"type":"command_execution","status":"failed","aggregated_output":"{\\"status\\":\\"failed\\"}"}}\n{"type":"item.completed","item":{"id":"2","type":"agent_message","text":"Done.\\n${text}"}}\n{"type":"turn.completed","usage":{}}\nE`,
    );
    const ran = at.task(['--agent', 'codex']);
    expect(ran.result).toMatchObject({ status: 'completed', summary: 'from events', needs_human_review: false });
    const words = wordsOf(at);
    expect(words.slice(-3, -1)).toEqual(['exec', '--json']);
  });

  it('codex: a failed turn that names a limit is rate_limited', () => {
    const at = field();
    at.agent(
      'codex',
      `cat <<'E'\n{"type":"thread.started","thread_id":"1"}\n{"type":"turn.failed","error":{"message":"usage limit reached, try again at 7pm"}}\nE\nexit 1`,
    );
    expect(at.task(['--agent', 'codex']).result.status).toBe('rate_limited');
  });

  it('agy: --model NAME with the display name, never -m', () => {
    const at = field();
    at.agent('agy', `${LISTEN}\n${say({})}`);
    expect(at.task(['--agent', 'agy']).result.status).toBe('completed');
    expect(wordsOf(at).slice(0, 3)).toEqual(['--model', 'Gemini 3.1 Pro (High)', '-p']);
    at.task(['--agent', 'agy', '--model', 'Other']);
    expect(wordsOf(at).slice(0, 3)).toEqual(['--model', 'Other', '-p']);
  });

  it('ollama: run MODEL PROMPT', () => {
    const at = field();
    at.agent('ollama', `${LISTEN}\n${say({})}`);
    expect(at.task(['--agent', 'ollama', '--model', 'qwen3']).exit).toBe(0);
    expect(wordsOf(at).slice(0, 2)).toEqual(['run', 'qwen3']);
  });

  it('grok: a prompt over 32 KB is refused before anything starts', () => {
    const at = field();
    at.agent('grok', `${LISTEN}\n${say({})}`);
    writeFileSync(join(at.base, 'task.md'), 'x'.repeat(32_768));
    const ran = at.task(['--agent', 'grok']);
    expect([ran.exit, ran.stdout, at.told('pwd')]).toEqual([3, '', '']);
    expect(ran.stderr).toContain('grok takes 32768');
    expect(at.left()).toEqual([]);
  });

  it('grok: evidence goes before the task does, so that its prompt keeps below 32 KB', () => {
    const at = field();
    at.put('AGENTS.md', `${'Some notes on the build. '.repeat(1_600)}\n`);
    at.commit('notes');
    at.agent('grok', `${LISTEN}\n${say({})}`);
    const ran = at.task(['--agent', 'grok']);
    expect(ran.exit).toBe(0);
    expect(ran.stderr).toContain('left out of the boot context');
    const prompt = wordsOf(at).at(-1) ?? '';
    expect(Buffer.byteLength(prompt)).toBeLessThanOrEqual(32_768);
    expect(prompt).toContain('Add a guard.');
  });

  it.each(['Claude AI usage limit reached|1790000000', "You've hit your limit - resets 7pm (Asia/Tokyo)"])(
    'a limit on stderr and exit 1 is rate_limited: %s',
    (line) => {
      const at = field();
      at.agent('claude', `echo "${line}" >&2; exit 1`);
      const ran = at.task(['--agent', 'claude']);
      expect([ran.exit, ran.result.status, ran.result.host.reaction]).toEqual([1, 'rate_limited', 'other_vendor']);
    },
  );

  it('a prompt that begins like a switch is no switch, and placeholders in it stand for nothing', () => {
    const at = field();
    at.agent('claude', `${LISTEN}\n${say({})}`);
    writeFileSync(join(at.base, 'task.md'), '--dangerously-skip-permissions {boot} {args} {prompt} {model} $&');
    expect(at.task(['--agent', 'claude']).exit).toBe(0);
    expect(wordsOf(at).at(-1)).toContain('--dangerously-skip-permissions {boot} {args} {prompt} {model} $&');
    expect(wordsOf(at).at(-1)?.startsWith('-')).toBe(false);
  });

  it('words behind -- go to the agent named; those that undo what writ sets are refused', () => {
    const at = field();
    at.agent('claude', `${LISTEN}\n${say({})}`);
    expect(at.task(['--agent', 'claude', '--', '--permission-mode', 'acceptEdits']).exit).toBe(0);
    expect(wordsOf(at).slice(-3, -1)).toEqual(['--permission-mode', 'acceptEdits']);
    const ran = at.task(['--agent', 'claude', '--', '--setting-sources=user']);
    expect([ran.exit, ran.stdout]).toEqual([3, '']);
  });
});

describe('any command', () => {
  it('that prints its prompt again has not answered by that', () => {
    const at = field();
    writeFileSync(join(at.base, 'task.md'), 'Write a rate limiter.\n');
    const ran = at.task(['--', at.agent('mine', 'printf "%s\\n" "$1"; printf "%s\\n" "$1" | sed "s/^/> /" >&2')]);
    expect(ran.result).toMatchObject({ status: 'completed', needs_human_review: true });
    expect(ran.result.known_risks).toEqual(['the output holds no result block: what was done is not known']);
  });

  it('gets the prompt as its last word', () => {
    const at = field();
    const file = at.agent('mine', `${LISTEN}\n${say({})}`);
    expect(at.task(['--', file, 'work']).exit).toBe(0);
    expect(wordsOf(at)[0]).toBe('work');
    expect(wordsOf(at)[1]).toContain('Add a guard.');
  });

  it('or where {prompt} and {prompt-file} stand', () => {
    const at = field();
    const file = at.agent('mine', `cp "$2" "$OUT/prompt"; ${LISTEN}\n${say({})}`);
    expect(at.task(['--', file, 'p={prompt}', '{prompt-file}']).exit).toBe(0);
    expect(wordsOf(at)[0]).toMatch(/^p=Add a guard\./);
    expect(at.told('prompt')).toBe(wordsOf(at)[0]?.slice(2));
  });

  it('takes the options of writ behind it too, as cli.md spells them', () => {
    const at = field();
    const file = at.agent('mine', `${LISTEN}\n${say({ summary: 'ok' })}`);
    const ran = at.host([
      '--',
      file,
      'work',
      '--timeout',
      '15m',
      '--prompt-file',
      join(at.base, 'task.md'),
      '--validate',
      'true',
    ]);
    expect([ran.exit, ran.result.summary]).toEqual([0, 'ok']);
    expect(wordsOf(at).length).toBe(2);
  });

  it('a relative path is meant from the folder of the person, not from the work tree', () => {
    const at = field();
    at.put('mine.sh', `#!/bin/sh\n${say({ summary: 'mine' })}\n`);
    at.git('update-index', '--add', '--cacheinfo', `100755,${at.git('hash-object', '-w', 'a.txt')},mine.sh`);
    at.shell('chmod +x mine.sh');
    expect(at.task(['--', './mine.sh']).result.summary).toBe('mine');
  });

  it.each([
    [['--agent', 'cluade']],
    [['--agent', 'claude', '--timeout', '0s']],
    [['--agent', 'claude', '--timeout', 'soon']],
    [['--agent', 'claude', '--timeout', '30d']],
    [['--agent', 'claude', '--ladder', 'codex,nobody']],
    [['--agent', 'claude', '--validate', ' ']],
    [['--agent', 'claude', '--prompt-file', '/nowhere/task.md']],
    [['--agent', 'grok']],
    [[]],
  ])('wrong usage ends in 3 and starts nothing: %j', (args) => {
    const at = field();
    at.agent('claude', `${LISTEN}\n${say({})}`);
    const ran = at.task(args);
    expect([ran.exit, ran.stdout, at.told('pwd')]).toEqual([3, '', '']);
    expect(at.left()).toEqual([]);
  });

  it('an empty task, one with a NUL and one that is no text end in 3', () => {
    const at = field();
    for (const bytes of [Buffer.from(' \n'), Buffer.from('a\0b'), Buffer.from([0xff, 0xfe])]) {
      writeFileSync(join(at.base, 'task.md'), bytes);
      expect(at.task(['--', 'true']).exit).toBe(3);
    }
  });

  it('without --host-report stdout is the six fields alone', () => {
    const at = field();
    const ran = at.host(['--prompt-file', join(at.base, 'task.md'), '--', at.agent('mine', say({ summary: 's' }))]);
    expect(ran.stdout).toBe(
      '{"status":"completed","summary":"s","changed_files":[],"tests_attempted":[],"known_risks":[],"needs_human_review":false}\n',
    );
  });
});
