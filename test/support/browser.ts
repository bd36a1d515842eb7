import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** The browser of this machine, as a path; null where there is none: its tests are skipped and say so. */
export function findBrowser(): string | null {
  for (const folder of (process.env.PATH ?? '').split(':')) {
    for (const name of NAMES) {
      try {
        accessSync(join(folder, name), constants.X_OK);
        return join(folder, name);
      } catch {
        // Not here.
      }
    }
  }
  return null;
}

/** Starts it without a window. Its own sandbox does not work for root, as in a container. */
export async function startBrowser(path: string): Promise<Browser> {
  return chromium.launch({ executablePath: path, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
}
