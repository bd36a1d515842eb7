// Speed and memory of `writ watch`: from the close of a write to the verdict on stdout, and the heap after many events.
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { markdown, plain } from './workspaces.mjs';

const FILES = 1_000;
const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

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

/** Resident megabytes of a process, where the system says. */
function resident(pid) {
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1024;
}

/**
 * Watches 1,000 init files and changes one of them `events` times, waiting for each verdict.
 * @returns medians and extremes of the latency in ms, and resident MB after a tenth of the events and at the end (NaN where the system does not say).
 */
export async function measureWatch(base, command, env, events) {
  const root = plain(base, FILES, 6_144);
  const watch = start(command, root, env);
  try {
    await watch.next((event) => event.event === 'ready');
    // Files just written are read again every time; a workspace that lay a while is what people watch.
    await pause(3_000);
    const latencies = [];
    let early = Number.NaN;
    for (let i = 0; i < events; i += 1) {
      const path = `.claude/rules/rule-${i % 10}.md`;
      const told = watch.next((event) => event.event === 'verdict' && event.path === path);
      writeFileSync(join(root, path), markdown(6_144, FILES + i));
      const closed = performance.now();
      latencies.push((await told).at - closed);
      if (i === Math.floor(events / 10)) early = memoryOf(watch.child.pid);
    }
    const late = memoryOf(watch.child.pid);
    latencies.sort((a, b) => a - b);
    return { median: median(latencies), p95: latencies[Math.floor(latencies.length * 0.95)], early, late, events };
  } finally {
    watch.child.kill('SIGTERM');
    await watch.ended;
  }
}

function memoryOf(pid) {
  try {
    return resident(pid);
  } catch {
    return Number.NaN;
  }
}
