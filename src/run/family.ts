import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** A process, told from a later one with the same number by when it began. */
interface Row {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly began: string;
  readonly zombie: boolean;
  readonly hasTerminal: boolean;
}

/** All processes that come from one program: by group and session, by descent, by a variable they inherited, and by the folder they work in. */
export interface Family {
  /** Remembers who is there now, so that one whose parent ends is still known. */
  note(): void;
  /** Kills everybody, again and again until nobody is left. @returns how many outlived the program, and how many could not be killed. */
  end(): Promise<{ readonly killed: number; readonly left: number }>;
}

const ROUNDS = 100;
const PAUSE_MS = 20;
/** How long nobody new may come until all are gone, and how long that is waited for. ms. */
const QUIET_MS = 100;
const HUNT_MS = 5_000;
/** Numbers tried below the newest, and looks at one. */
const RECENT = 24;
const MOST_LOOKS = 40;
const MAX_ENVIRONMENT = 4_194_304;

/**
 * Follows the processes of a program that was started as the leader of a session of its own.
 * What gets away: a process that leaves the session, drops its environment, goes to another folder *and* loses its parent between two looks, and a
 * chain of processes that each start the next faster than anybody can look; nothing short of a container holds those. Without /proc (macOS) only group and descent are known.
 * @param root its process number. @param mark `NAME=value` of a variable that nothing else has. @param folder real path that nothing else works in; a
 * shell that a person opened there has a terminal, and is left alone.
 */
export function followFamily(root: number, mark: string, folder: string): Family {
  const known = new Map<number, string>();
  const began = rowsNow().find((row) => row.pid === root)?.began ?? null;

  const look = (deep: boolean): readonly Row[] => {
    const rows = rowsNow();
    const members = new Map<number, Row>();
    for (const row of rows) {
      // The number of a group is not given away while anybody is in it.
      const younger = began === null || !isOlder(row.began, began);
      const own = (row.group === root || row.session === root) && younger;
      const strays = (): boolean =>
        deep && (markIn(row.pid, mark) === 'there' || (younger && !row.hasTerminal && isIn(row.pid, folder)));
      if (own || known.get(row.pid) === row.began || strays()) members.set(row.pid, row);
    }
    for (let grew = true; grew; ) {
      grew = false;
      for (const row of rows)
        if (!members.has(row.pid) && members.has(row.parent)) {
          members.set(row.pid, row);
          grew = true;
        }
    }
    members.delete(process.pid);
    for (const row of members.values()) known.set(row.pid, row.began);
    return [...members.values()].filter((row) => !row.zombie);
  };

  return {
    note: () => void look(false),
    async end() {
      const killed = new Set<number>();
      let left = 0;
      for (let round = 0; round < ROUNDS; round += 1) {
        const there = look(true);
        left = there.length;
        if (left === 0) break;
        // Stopped first: what cannot run cannot start another meanwhile.
        // By group as well, which reaches those that came after the look; our own is never one of them.
        const groups = [...new Set(there.map(({ group }) => group))].filter(
          (group) => there.some(({ pid }) => pid === group) || group === root,
        );
        for (const signal of ['SIGSTOP', 'SIGKILL'] as const)
          for (const at of [...groups.map((group) => -group), ...there.map(({ pid }) => pid)]) send(at, signal);
        for (const { pid } of there) killed.add(pid);
        await new Promise((done) => setTimeout(done, PAUSE_MS));
      }
      const hunted = hunt(mark);
      return { killed: killed.size + hunted.killed, left: left + hunted.left };
    },
  };
}

/**
 * Kills what starts a successor and ends before anybody can look at all processes twice: the numbers given last are tried at once, the newest first.
 * @returns how many were, and 1 where they still came when the time was up.
 */
function hunt(mark: string): { readonly killed: number; readonly left: number } {
  const looks = new Map<number, number>();
  const killed = new Set<number>();
  const start = performance.now();
  for (let quiet = start, now = start; now - quiet < QUIET_MS; now = performance.now()) {
    if (now - start > HUNT_MS) return { killed: killed.size, left: 1 };
    const newest = lastNumber();
    if (newest === null) break;
    for (let pid = newest; pid > newest - RECENT && pid > 1; pid -= 1) {
      const looked = looks.get(pid) ?? 0;
      if (looked >= MOST_LOOKS) continue;
      const found = markIn(pid, mark);
      // One without an environment may be just starting a program.
      looks.set(pid, found === 'empty' ? looked + 1 : MOST_LOOKS);
      if (found !== 'there') continue;
      send(pid, 'SIGKILL');
      killed.add(pid);
      quiet = now;
    }
  }
  return { killed: killed.size, left: 0 };
}

/** The number of the process that began last (proc(5), loadavg); null where there is no /proc. */
function lastNumber(): number | null {
  try {
    return Number(readFileSync('/proc/loadavg', 'latin1').trim().split(' ').at(-1));
  } catch {
    return null;
  }
}

/** Sends a signal; one that is gone, or somebody else's, is left alone. */
export function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // ESRCH: it ended by itself.
  }
}

function isOlder(a: string, b: string): boolean {
  return Number(a) < Number(b);
}

function rowsNow(): readonly Row[] {
  let names: readonly string[];
  try {
    names = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return rowsOfPs();
  }
  return names.flatMap((name) => {
    try {
      // After the name in brackets: state, parent, group, session, terminal, ...; when it began is the 20th (proc(5)).
      const rest = readFileSync(`/proc/${name}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? [];
      const [state = '', parent = '0', group = '0', session = '0', terminal = '0'] = rest;
      return [
        {
          pid: Number(name),
          parent: Number(parent),
          group: Number(group),
          session: Number(session),
          began: rest[19] ?? '',
          zombie: state === 'Z' || state === 'X',
          hasTerminal: terminal !== '0',
        },
      ];
    } catch {
      return [];
    }
  });
}

function rowsOfPs(): readonly Row[] {
  const listed = spawnSync('ps', ['-A', '-o', 'pid=,ppid=,pgid=,stat=,lstart='], { encoding: 'utf8', timeout: 5_000 });
  return (listed.stdout ?? '').split('\n').flatMap((line) => {
    const found = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.+)$/.exec(line);
    if (found === null) return [];
    const [, pid, parent, group, state = '', began = ''] = found;
    return [
      {
        pid: Number(pid),
        parent: Number(parent),
        group: Number(group),
        session: Number(group),
        began: String(Date.parse(began)),
        zombie: state.startsWith('Z'),
        hasTerminal: true,
      },
    ];
  });
}

function markIn(pid: number, mark: string): 'there' | 'missing' | 'empty' {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`);
    if (environment.length === 0) return 'empty';
    return environment.length <= MAX_ENVIRONMENT && environment.includes(mark) ? 'there' : 'missing';
  } catch {
    return 'missing';
  }
}

function isIn(pid: number, folder: string): boolean {
  try {
    const place = readlinkSync(`/proc/${pid}/cwd`).replace(/ \(deleted\)$/, '');
    return place === folder || place.startsWith(`${folder}/`);
  } catch {
    return false;
  }
}
