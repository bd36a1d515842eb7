import { join } from 'node:path';
import { withLock } from '../files/lock.ts';
import { makeFolder } from '../files/make-folder.ts';
import { writeAtomic } from '../files/write-atomic.ts';
import type { Places } from '../model/settings.ts';
import { PINS_FILE, type Pin, type Pins, readPins, renderPins } from '../policy/pins.ts';

/** Changes the user's pins under a lock. @returns why not, where the pins file cannot be read; throws where the disk refuses. */
export async function changePins(places: Places, change: (pins: Pins) => Pins): Promise<string | null> {
  makeFolder(places.configDir, 0o700);
  return withLock(places.configDir, 'pins', async () => {
    const pins = await readPins({ systemDir: places.systemDir, configDir: places.configDir, environment: null });
    if ('fault' in pins) return pins.fault;
    const text = renderPins(change(pins));
    if (text !== renderPins(pins)) writeAtomic(join(places.configDir, PINS_FILE), text, 0o600);
    return null;
  });
}

/** The pins with one pin put in the place of the user's own for that workspace. */
export function withPin(pins: Pins, pin: Pin): Pins {
  return {
    ...pins,
    pins: [...pins.pins.filter((other) => other.workspace !== pin.workspace || other.from === 'system'), pin],
  };
}
