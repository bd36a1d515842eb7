import { expect, it } from 'vitest';
import { toStateLocation } from '../../src/store/location.ts';

const HOME = '/home/ada';
const DEFAULT = { kind: 'sqlite', file: '/home/ada/.local/state/writ/writ.db' };

it.each([
  [undefined, undefined, DEFAULT],
  ['', '', DEFAULT],
  [undefined, '/var/state', { kind: 'sqlite', file: '/var/state/writ/writ.db' }],
  [undefined, 'relative/state', DEFAULT],
  ['/srv/state', '/var/state', { kind: 'sqlite', file: '/srv/state/writ.db' }],
  ['/srv/state/', undefined, { kind: 'sqlite', file: '/srv/state/writ.db' }],
  ['none', '/var/state', { kind: 'none' }],
  ['postgres://u:p@db/w', undefined, { kind: 'unsupported', url: 'postgres://u:p@db/w' }],
  ['file:///tmp/x', undefined, { kind: 'unsupported', url: 'file:///tmp/x' }],
])('WRIT_STATE=%s XDG_STATE_HOME=%s', (value, xdg, expected) => {
  expect(toStateLocation(value, xdg, HOME)).toEqual(expected);
});
