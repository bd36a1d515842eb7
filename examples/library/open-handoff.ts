// Opens a handoff addressed to NAME and prints what was asked for. Usage: open-handoff.js FOLDER NAME FILE
import { readFileSync } from 'node:fs';
import { openHandoff } from 'writ';

const [root = '.', audience = '', file = ''] = process.argv.slice(2);
// What was taken before; a program that runs for longer keeps this where it lasts.
const taken = new Set<string>();

const opened = await openHandoff(readFileSync(file), {
  root,
  audience,
  seen: ({ from, handoffId, nonce }) => taken.has(`${from} ${handoffId}`) || taken.has(`${from} ${nonce}`),
});
if ('refused' in opened) {
  console.log(`refused: ${opened.refused.code}`);
  process.exitCode = 1;
} else {
  console.log(`${opened.sender.principal} (${opened.sender.role}) hands over: ${opened.artifact.task_intent}`);
}
