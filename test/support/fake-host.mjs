#!/usr/bin/env node
// Stands for a host in the stories: writes what it was given as JSON to FAKE_OUT (or stdout), then does as FAKE_DO says.
import { readFileSync, writeFileSync, writeSync } from 'node:fs';

const { FAKE_OUT: out, FAKE_DO: todo = '', FAKE_READS: reads = '' } = process.env;
const stdin = process.env.FAKE_STDIN === undefined ? null : readFileSync(0, 'utf8');
const signals = [];
const report = () => {
  const files = Object.fromEntries(
    [...process.argv.slice(2), ...Object.values(process.env)]
      .flatMap((word) => [word, word.replace(/^[^=]*=/, '')])
      .filter((word) => /^\/.*writ-exec-/.test(word))
      .flatMap((path) => {
        try {
          return [[path, readFileSync(path, 'utf8')]];
        } catch {
          return [];
        }
      }),
  );
  const text = JSON.stringify({
    argv: process.argv.slice(2),
    env: process.env,
    cwd: process.cwd(),
    stdin,
    signals,
    files,
  });
  if (out) writeFileSync(out, text);
  else writeSync(1, text);
};
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'])
  if (todo === 'wait')
    process.on(name, () => {
      signals.push(name);
      report();
      if (name === 'SIGTERM') process.exit(7);
    });
report();
if (reads !== '') process.stdout.write(readFileSync(reads));
if (/^exit /.test(todo)) process.exitCode = Number(todo.slice(5));
if (/^kill /.test(todo)) process.kill(process.pid, todo.slice(5));
if (todo === 'wait' || todo === 'stay') setInterval(() => {}, 1_000);
