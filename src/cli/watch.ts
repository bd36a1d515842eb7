import { resolve } from 'node:path';
import { durationMs } from '../model/instant.ts';
import type { Colours } from '../report/verdicts-text.ts';
import type { WatchEvent, WorkspaceFinding } from '../watch/event.ts';
import { type WatchOptions, watchWorkspace } from '../watch/watch-workspace.ts';
import { actorOf } from './boot.ts';
import { type Call, EXIT, type Exit, flag, oneOf, text, UsageError } from './command.ts';
import { paintFor, print, STDOUT, whenReaderGoes } from './output.ts';
import { openWorkspace } from './workspace.ts';

const EVERY = '10m';
/** How often `--poll` looks, ms. */
const POLL_MS = 1_000;
/** Findings about the workspace told one by one in text. */
const MAX_TOLD = 20;

/** `writ watch`: keeps judging as files change. Ends with 1 where something is refused at the end, 4 where the last state could not be checked. */
export async function watch(call: Call): Promise<Exit> {
  const format = oneOf(call, 'format', ['text', 'ndjson']) ?? 'text';
  const every = text(call, 'every') ?? EVERY;
  const everyMs = durationMs(every);
  if (everyMs === null || everyMs < 1_000)
    throw new UsageError(`--every takes a duration such as 90s, 10m or 1h, not ${every}`);
  const { root, places, state } = openWorkspace(call);
  const given = text(call, 'root');
  const options: WatchOptions = {
    place: given === null ? root.path : resolve(given),
    places,
    state,
    observe: flag(call, 'observe'),
    quarantine: flag(call, 'quarantine') ? { actor: actorOf(call) } : null,
    everyMs,
    pollMs: pollMs(call),
    once: flag(call, 'once-ready'),
  };
  const paint = paintFor(STDOUT);
  const watching = watchWorkspace(options, async (event) => {
    await print(format === 'ndjson' ? `${JSON.stringify(event)}\n` : `${line(event, every, paint)}\n`);
  });
  // A reader that goes away ends the command, with what stood until then.
  whenReaderGoes(() => watching.exit());
  const stop = (): void => {
    for (const signal of SIGNALS) {
      process.removeListener(signal, stop);
      process.once(signal, () => process.exit(EXIT.unchecked));
    }
    watching.stop();
  };
  for (const signal of SIGNALS) process.once(signal, stop);
  const exit = await watching.ended;
  for (const signal of SIGNALS) process.removeAllListeners(signal);
  return exit;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** `--poll`, or what people set for other watchers: CHOKIDAR_USEPOLLING and CHOKIDAR_INTERVAL. */
function pollMs(call: Call): number | null {
  const { CHOKIDAR_USEPOLLING: asked = '', CHOKIDAR_INTERVAL: interval = '' } = process.env;
  if (!flag(call, 'poll') && !/^(?:1|true)$/i.test(asked)) return null;
  return /^\d{1,7}$/.test(interval) ? Math.max(Number(interval), 100) : POLL_MS;
}

/** One line a change. */
function line(event: WatchEvent, every: string, paint: Colours): string {
  const time = new Date(event.at).toISOString().slice(11, 23);
  const took = paint.dim(`${event.ms} ms`);
  switch (event.event) {
    case 'verdict': {
      if (event.rank === null)
        return `${time} ${paint.yellow('workspace'.padEnd(11))} ${event.findings?.length ? told(event.findings) : 'nothing is found about it any more'}  ${took}`;
      const place = event.line === null ? event.path : `${event.path}:${event.line}`;
      const word =
        event.rank !== 'quarantined'
          ? event.rank
          : event.unchecked
            ? 'unchecked'
            : event.disposition === 'move'
              ? 'quarantine'
              : 'withheld';
      const colour = { binding: paint.green, advisory: paint.cyan, reference: paint.dim }[event.rank] ?? paint.red;
      return `${time} ${colour(word.padEnd(11))} ${place}  ${paint.dim(event.class ?? '')}  ${event.codes.join(', ')}${event.reason === null ? '' : `: ${event.reason}`}  ${took}`;
    }
    case 'removed':
      return `${time} ${(event.codes.length > 0 ? paint.red : paint.dim)('removed'.padEnd(11))} ${event.path}${event.line === null ? '' : `:${event.line}`}  ${event.codes.join(', ')}  ${took}`;
    case 'quarantined':
      return `${time} ${paint.red('moved'.padEnd(11))} ${event.path}  to quarantine (${event.codes.join(', ')}). To look at it: writ quarantine show ${event.id}. To bring it back once cured: writ quarantine release ${event.id}  ${took}`;
    case 'error':
      return `${time} ${paint.red('error'.padEnd(11))} ${event.message} Cure: ${event.cure}`;
    case 'ready': {
      const { summary } = event;
      const counts = Object.entries(summary).map(([rank, count]) => `${count} ${rank}`);
      const unwatched =
        event.unwatched.length === 0
          ? ''
          : `; not watched below ${event.unwatched.slice(0, MAX_TOLD).join(', ')}: judged again when the folder or its lock file changes and every ${every}`;
      const how =
        event.pollMs === null ? `watching, all is judged anew every ${every}` : `looking every ${event.pollMs} ms`;
      return `${time} ${paint.bold('ready'.padEnd(11))} ${event.artifacts} judged: ${counts.join(', ')}; ${how}${unwatched}${event.findings.length > 0 ? `; ${told(event.findings)}` : ''}  ${took}`;
    }
  }
}

function told(findings: readonly WorkspaceFinding[]): string {
  const shown = findings.slice(0, MAX_TOLD).map(({ code, message }) => `${code}: ${message}`);
  return [...shown, ...(findings.length > MAX_TOLD ? [`and ${findings.length - MAX_TOLD} more`] : [])].join(' ');
}
