import { spawn } from 'node:child_process';
import { childEnvironment } from '../launch/environment.ts';
import { boundedFetch } from './fetch.ts';

/** Who is told where a handoff is not answered, or a cancel not confirmed. */
export interface EscalationTargets {
  /** policy.yaml, handoffs.escalate.url; null where it names none. */
  readonly url: string | null;
  /** The user’s own, from outside every repo: program and words, run without a shell. Null where there is none. */
  readonly command: readonly string[] | null;
  /** Where the command runs, absolute. */
  readonly home: string;
}

/** What is told. No text of the handoff. */
export interface Escalation {
  readonly schema: 'writ.escalation/1';
  readonly workspace: string;
  readonly handoffId: string;
  readonly taskId: string | null;
  readonly from: string;
  readonly to: string;
  readonly code: 'handoff-unanswered' | 'handoff-cancel-unconfirmed';
  readonly reason: string;
  readonly url: string;
  /** ISO 8601. */
  readonly at: string;
}

/** How telling one target went. */
export interface Told {
  readonly target: 'url' | 'command';
  /** Null where it was told. */
  readonly fault: string | null;
}

const TIMEOUT = 8_000;
const TRIES = 2;

/** Tells every target there is, side by side. @returns how each went; empty where none is set up. Never throws. */
export async function escalate(targets: EscalationTargets, escalation: Escalation): Promise<readonly Told[]> {
  const text = JSON.stringify(escalation);
  const { url, command } = targets;
  return Promise.all([
    ...(url === null ? [] : [post(url, text).then((fault): Told => ({ target: 'url', fault }))]),
    ...(command === null
      ? []
      : [run(command, text, targets.home).then((fault): Told => ({ target: 'command', fault }))]),
  ]);
}

async function post(url: string, body: string): Promise<string | null> {
  let fault = 'it was not told';
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    try {
      const answer = await boundedFetch(AbortSignal.timeout(TIMEOUT))(url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body,
      });
      if (answer.ok) return null;
      fault = `it answered ${answer.status}`;
    } catch (error) {
      fault = error instanceof Error ? error.message : 'it could not be reached';
    }
  }
  return fault;
}

async function run(command: readonly string[], input: string, home: string): Promise<string | null> {
  const [file = '', ...words] = command;
  return new Promise((done) => {
    const child = spawn(file, words, {
      cwd: home,
      env: { ...childEnvironment(process.env, null, []) },
      stdio: ['pipe', 'ignore', 'ignore'],
      timeout: TIMEOUT,
      killSignal: 'SIGKILL',
    });
    child.once('error', (error) => done(error.message));
    child.once('exit', (code, signal) => done(code === 0 ? null : `it ended with ${code ?? signal}`));
    // A command that does not read what it is told is no error of ours.
    child.stdin.on('error', () => undefined);
    child.stdin.end(`${input}\n`);
  });
}
