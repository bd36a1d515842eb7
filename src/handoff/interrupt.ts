import type { Instant } from '../model/instant.ts';
import type { Json } from '../sign/field-reader.ts';
import { type EnvelopeName, envelopeOfAck } from './answer.ts';
import type { Authority } from './authority.ts';
import { type Answered, connect } from './client.ts';

/** Which handoff a task is, as its receiver signed it. */
export type InterruptTarget = EnvelopeName & { readonly to: string };

const POLL = 300;

/** Asks a receiver which handoff one of its tasks is. @returns null where no signed answer says it, or it could not be asked. */
export async function targetOf(
  task: string,
  url: string,
  by: Authority,
  now: Instant,
  timeoutMs: number,
): Promise<InterruptTarget | null> {
  try {
    const client = await connect(url, AbortSignal.timeout(timeoutMs));
    const { data } = await client.get(task);
    return data.map((one) => envelopeOfAck(one, by, now)).find((one) => one !== null) ?? null;
  } catch {
    return null;
  }
}

/**
 * Orders a receiver to stop and waits until it says that it has. @returns null where the task is cancelled, else why that is not known: then nothing new
 * may be sent. Never throws.
 */
export async function cancelTask(
  task: string,
  order: string,
  { url, timeoutMs }: { readonly url: string; readonly timeoutMs: number },
): Promise<string | null> {
  const signal = AbortSignal.timeout(timeoutMs);
  let why = 'the receiver could not be reached';
  let asked = false;
  while (!signal.aborted) {
    try {
      const client = await connect(url, signal);
      const answered = asked ? await client.get(task) : await client.cancel(task, JSON.parse(order) as Json);
      asked = true;
      if (isCancelled(answered)) return null;
      why = `the task is ${answered.state} and not cancelled`;
    } catch (error) {
      if (!signal.aborted) why = error instanceof Error ? error.message : why;
      // A receiver that says no is told no differently by being asked again.
      if (/cancel-unproven|not cancelable|cannot be canceled|already/i.test(why)) return why;
    }
    await new Promise((done) => setTimeout(done, POLL));
  }
  return why;
}

function isCancelled({ state }: Answered): boolean {
  return /^(?:task_state_)?cancell?ed$/i.test(state);
}
