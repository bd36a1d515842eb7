#!/usr/bin/env node
// Stands for a host in the stories: writes what it was given as JSON to FAKE_OUT (or stdout), then does as FAKE_DO says.
import { existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync, writeSync } from 'node:fs';

const { FAKE_OUT: out, FAKE_DO: todo = '', FAKE_READS: reads = '' } = process.env;
const stdin = process.env.FAKE_STDIN === undefined ? null : readFileSync(0, 'utf8');
const signals = [];
const read = (path) => (statSync(path).isDirectory() ? readdirSync(path).map((name) => `${path}/${name}`) : [path]);
const named = (word) => [word, word.replace(/^[^=]*=/, ''), ...(word.match(/\/[^"]*writ-exec-[^"]*/g) ?? [])];
const report = () => {
  const files = {};
  for (const word of [...process.argv.slice(2), ...Object.values(process.env)].flatMap(named)) {
    if (!/^\/.*writ-exec-/.test(word) || !existsSync(word)) continue;
    for (const path of read(word)) files[path] = readFileSync(path, 'utf8');
  }
  const { argv, env, pid } = process;
  const text = JSON.stringify({ pid, argv: argv.slice(2), env, cwd: process.cwd(), stdin, signals, files });
  if (out) {
    writeFileSync(`${out}.new`, text);
    renameSync(`${out}.new`, out);
  } else writeSync(1, text);
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
