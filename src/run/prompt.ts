import { saysRateLimited } from '../result/rate-limit.ts';
import { STATUSES } from '../result/run-result.ts';

/**
 * What is asked of every agent at the end of its prompt (FLT-2, parsing rules: the block is requested by a suffix). The words are ours. The pattern
 * is no JSON on purpose: many programs print their prompt again, and that must not be read as the answer.
 */
const SUFFIX = `
When you are done, or cannot go on, end your answer with one fenced json block, and nothing after it:

\`\`\`json
{
  "status": <${STATUSES.filter((one) => one !== 'timed_out').join(', ')}>,
  "summary": "one paragraph: what happened",
  "changed_files": ["paths relative to the repository that you changed"],
  "tests_attempted": ["each command you ran as a test, and how it ended"],
  "known_risks": ["what a reviewer should look at twice"],
  "needs_human_review": <true or false>
}
\`\`\`

The words in < > are yours to replace. status is one word in quotes: completed when the task is done; failed when it is not; approval_required when the
next step is not yours to decide, such as a destructive one or a task that can be read in two ways: stop there and say so; rate_limited when your vendor
throttled you. Nobody answers questions while you work. Work only in the current folder. Do not push, and leave merging to the host.
`;

/** A task with the request for the block behind it. A first character that a program would read as an option is kept from being first. */
export function toPrompt(task: string): string {
  const text = `${task.trimEnd()}\n${SUFFIX}`;
  return /^\s*-/.test(text) ? `Task:\n${text}` : text;
}

/** Most lines of a prompt that are looked for one by one. */
const MOST_LINES = 50;

/**
 * An output without what was asked in it: many programs print their prompt again, and the words of a task are no words of a vendor. Printed with other
 * indents or marks, at least its lines that speak of limits are not taken for the vendor's.
 */
export function withoutEcho(output: string, prompt: string): string {
  const own = prompt
    .split('\n')
    .map((line) => line.trim())
    .filter(saysRateLimited)
    .slice(-MOST_LINES);
  return [prompt, ...own].reduce((left, text) => left.replaceAll(text, ''), output);
}

/** The boot context in front of a prompt, for an agent that has no other way to take it. */
export function withBootText(boot: string, prompt: string): string {
  return `${boot.trimEnd()}\n\n${prompt}`;
}
