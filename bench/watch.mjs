// Speed and memory of `writ watch`: from the close of a write to the verdict on stdout, and the heap after many events.
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { markdown, plain } from './workspaces.mjs';

const FILES = 1_000;
/** Changes made one by one, for the latency; the rest are made ten at a time. */
const SINGLE = 300;

/** Starts `writ watch --format ndjson`. `next(test)` waits for the first event from now on that passes. */
function start(command, root, env) {
  const child = spawn(process.execPath, [command, 'watch', '--format', 'ndjson', '--every', '24h'], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const waiting = new Set();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const event = JSON.parse(line);
    for (const one of waiting) {
      if (!one.test(event)) continue;
      waiting.delete(one);
      one.resolve({ event, at: performance.now() });
    }
  });
  const ended = new Promise((resolve) => child.on('exit', resolve));
  const next = (test) =>
    Promise.race([
      new Promise((resolve) => waiting.add({ test, resolve })),
      ended.then((code) => {
        throw new Error(`writ watch ended with ${code}`);
      }),
    ]);
  return { child, next, ended };
}

/** Changes files of a watched workspace of 1,000 init files `events` times, waiting for each verdict. @returns latencies in ms, sorted, and resident MB after a tenth of the events and at the end. */
async function changeAndWait(base, command, env, events) {
  const root = plain(base, FILES, 6_144);
  const watch = start(command, root, env);
  try {
    await watch.next((event) => event.event === 'ready');
    // Files just written are read again every time; a workspace that lay a while is what people watch.
    await pause(3_000);
    const change = async (at) => {
      const path = `.claude/rules/rule-${at % 10}.md`;
      const told = watch.next((event) => event.event === 'verdict' && event.path === path);
      writeFileSync(join(root, path), markdown(6_144, FILES + at));
      const closed = performance.now();
      return (await told).at - closed;
    };
    const latencies = [];
    for (let at = 0; at < SINGLE; at += 1) latencies.push(await change(at));
    let early = Number.NaN;
    for (let at = SINGLE; at < events; at += 10) {
      await Promise.all(Array.from({ length: 10 }, (_, i) => change(at + i)));
      if (Number.isNaN(early) && at >= events / 10) early = resident(watch.child.pid);
    }
    return { latencies: latencies.sort((a, b) => a - b), early, late: resident(watch.child.pid) };
  } finally {
    watch.child.kill('SIGTERM');
    await watch.ended;
  }
}

/** Rows for the table of bench/run.mjs: the latency of one change, and whether the memory stays flat over `events` of them. */
export async function measureWatch(base, command, env, events) {
  const { latencies, early, late } = await changeAndWait(base, command, env, events);
  const middle = latencies[Math.floor(latencies.length / 2)];
  const slow = latencies[Math.floor(latencies.length * 0.95)];
  const grown = late / early;
  return [
    {
      line: 'watch, 1 of 1,000 files changed: close of the write to verdict',
      figure: `${middle.toFixed(0)} ms`,
      limit: '< 60 ms',
      passed: middle < 60,
      note: `95 of 100 within ${slow.toFixed(0)} ms`,
    },
    {
      line: `watch, memory after ${events.toLocaleString('en')} changes against a tenth of them`,
      figure: Number.isNaN(grown) ? 'not run' : `${grown.toFixed(2)} x`,
      limit: '<= 1.2 x',
      passed: !(grown > 1.2),
      note: Number.isNaN(grown) ? 'this system does not say' : `${early.toFixed(0)} MB / ${late.toFixed(0)} MB`,
    },
  ];
}

/** Resident megabytes of a process; NaN where the system does not say. */
function resident(pid) {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
  } catch {
    return Number.NaN;
  }
}
