import { spawn } from 'node:child_process';

/** A process beside this one that ends a program's whole family should this process be killed without a word. */
export interface Watchdog {
  /** Says which group is meant. */
  watch(group: number): void;
  /** Everything ended in order: it goes. */
  release(): void;
}

/**
 * Reads groups from its stdin; `done` sends it home, an end without that means that nobody is left to kill the group. It has to outlive the one
 * that started it, so it is a shell of its own session and needs nothing of this process.
 */
const SCRIPT = `
mark=$1 folder=$2 group=
while IFS= read -r line; do
  case $line in done) exit 0 ;; *) group=$line ;; esac
done
strays() {
  grep -aqsF -e "$mark" "$1/environ" 2>/dev/null && return 0
  case $(readlink "$1/cwd" 2>/dev/null) in "$folder" | "$folder"/*) ;; *) return 1 ;; esac
  IFS= read -r stat 2>/dev/null < "$1/stat" || return 1
  set -- \${stat##*) }
  [ "$5" = 0 ]
}
round=0
while [ "$round" -lt 50 ]; do
  found=
  if [ -n "$group" ]; then kill -s KILL -- "-$group" 2>/dev/null && found=1; fi
  for process in /proc/[0-9]*; do
    if strays "$process"; then kill -s KILL "\${process#/proc/}" 2>/dev/null && found=1; fi
  done
  [ -z "$found" ] && exit 0
  round=$((round + 1))
done
`;

/** @param mark `NAME=value` of a variable that the family inherits; never in our own environment. @param folder real path where only the family works. */
export function startWatchdog(mark: string, folder: string): Watchdog {
  const dog = spawn('/bin/sh', ['-c', SCRIPT, 'writ-watchdog', mark, folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    cwd: '/',
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
  });
  dog.on('error', () => {});
  dog.stdin.on('error', () => {});
  return {
    watch: (group) => void dog.stdin.write(`${group}\n`),
    release() {
      dog.stdin.end('done\n');
      dog.unref();
    },
  };
}
