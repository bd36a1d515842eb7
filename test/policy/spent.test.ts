import { describe, expect, it } from 'vitest';
import { spentSpawns } from '../../src/policy/spent.ts';
import { DAY, HOUR, keyNamed, later, spawn } from './given.ts';

const before = later(-DAY);
const over = { expiresAt: later(-2 * DAY) };
const names = (links: Parameters<typeof spentSpawns>[0], used: readonly string[] = []): readonly string[] =>
  spentSpawns(links, new Set(used.map((one) => keyNamed(one).fingerprint)), before).map(
    (one) => one.statement.predicate.actor,
  );

describe('spawn records that may go', () => {
  it('ran out before the grace, and signed nothing that stays', () => {
    const late = spawn('late', 'orch', { expiresAt: later(-HOUR) });
    const links = [spawn('old', 'orch', over), late, spawn('alive', 'orch'), spawn('author', 'orch', over)];
    expect(names(links, ['author'])).toEqual(['old']);
  });

  it('a key or name that another record has is not set free: somebody lower could answer for what it signed', () => {
    expect(names([spawn('deputy', 'orch', over), spawn('kid', 'orch', {}, { key: 'deputy' })])).toEqual([]);
    expect(names([spawn('kid', 'orch', over), spawn('kid', 'lead', {}, { key: 'kid-2' })])).toEqual([]);
    expect(names([spawn('kid', 'orch', over), spawn('kid', 'orch', over, { issuedAt: later(-3 * DAY) })])).toEqual([
      'kid',
      'kid',
    ]);
  });

  it('a parent stays while a child does, by name and by key, however deep', () => {
    const chain = [spawn('a', 'orch', over), spawn('b', 'a', over), spawn('c', 'b')];
    expect(names(chain)).toEqual([]);
    expect(names([...chain.slice(0, 2), spawn('c', 'b', over)])).toEqual(['a', 'b', 'c']);
    // Signed with its key under another parent's name.
    expect(names([spawn('a', 'orch', over), spawn('c', 'ghost', {}, { signers: ['a'] })])).toEqual([]);
  });
});
