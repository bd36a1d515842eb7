import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Workspace } from './workspace.ts';

const COMMAND = fileURLToPath(new URL('../../dist/writ.cjs', import.meta.url));
/** The machine may be busy: a screen is waited for this long, ms. */
const PATIENCE = 90_000;

/** Whether there is a tmux to try a terminal in; its tests are skipped where there is none. */
export const hasTmux = spawnSync('tmux', ['-V']).error === undefined;

/** The command on a terminal of its own, in tmux. */
export class Terminal {
  private readonly socket: string;

  constructor(space: Workspace, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.socket = join(space.base, 'tmux');
    const quoted = [process.execPath, COMMAND, ...args].map((one) => `'${one.replaceAll("'", "'\\''")}'`).join(' ');
    const started = spawnSync(
      'tmux',
      [
        '-S',
        this.socket,
        '-f',
        '/dev/null',
        'new-session',
        '-d',
        '-x',
        '150',
        '-y',
        '200',
        '-c',
        space.root,
        `${quoted}; echo "ended in $?"; sleep 600`,
      ],
      { cwd: space.root, env: { ...space.env, TERM: 'xterm-256color', ...env }, encoding: 'utf8' },
    );
    if (started.status !== 0) throw new Error(`tmux: ${started.stderr}`);
  }

  /** Everything on the screen and above it. */
  screen(options: readonly string[] = []): string {
    return spawnSync('tmux', ['-S', this.socket, 'capture-pane', '-p', '-J', '-S', '-2000', ...options], {
      encoding: 'utf8',
    }).stdout;
  }

  /** Waits until a text stands on the screen so many times. @returns the screen. */
  async until(text: string, times = 1): Promise<string> {
    const end = Date.now() + PATIENCE;
    for (;;) {
      const screen = this.screen();
      if (screen.split(text).length > times) return screen;
      if (Date.now() > end) throw new Error(`waited for ${times} times ${text}; the screen:\n${screen}`);
      await new Promise((wait) => setTimeout(wait, 100));
    }
  }

  /** Moves through a list of choices to one that begins with a word, and takes it. */
  async choose(word: string): Promise<void> {
    const end = Date.now() + PATIENCE;
    for (;;) {
      const [, chosen = ''] = /[\s\S]*\u25cf (.*)/.exec(this.screen()) ?? [];
      if (chosen.startsWith(word)) break;
      if (Date.now() > end) throw new Error(`${word} is no choice; the screen:\n${this.screen()}`);
      this.press('Down');
      await new Promise((wait) => setTimeout(wait, 150));
    }
    this.press('Enter');
  }

  /** Presses keys, by tmux's names for them. */
  press(...keys: readonly string[]): void {
    spawnSync('tmux', ['-S', this.socket, 'send-keys', ...keys]);
  }

  /** Types a text as it is. */
  type(text: string): void {
    spawnSync('tmux', ['-S', this.socket, 'send-keys', '-l', text]);
  }

  close(): void {
    spawnSync('tmux', ['-S', this.socket, 'kill-server']);
  }
}
