import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/contract/envelope.ts';
import { isMisspeltReference, normaliseRemote, parseResourceReference } from '../../src/contract/resource-reference.ts';
import { mergeUpdate } from '../../src/contract/update-contracts.ts';

function merged(current: JsonObject, payload: JsonObject): JsonObject {
  const done = mergeUpdate(current, payload);
  if ('conflict' in done) throw new Error(done.conflict.path);
  return done.merged;
}

describe('the merge of update_contracts', () => {
  it('adds, merges, unites, overwrites and deletes nothing', () => {
    const current = { keep: 1, list: [1, { a: 1, b: 2 }], deep: { one: 1, gone: null }, text: 'old' };
    const payload = { added: true, list: [{ b: 2, a: 1 }, 2, 2], deep: { two: [], gone: 'back' }, text: 'new' };
    expect(merged(current, payload)).toEqual({
      keep: 1,
      list: [1, { a: 1, b: 2 }, 2],
      deep: { one: 1, gone: 'back', two: [] },
      text: 'new',
      added: true,
    });
  });

  it.each([
    [{ a: { b: 1 } }, { a: null }, 'a'],
    [{ a: { b: [1] } }, { a: { b: 'x' } }, 'a.b'],
    [{ a: [1] }, { a: {} }, 'a'],
    [{ a: {} }, { a: [] }, 'a'],
  ])('is a conflict where it would delete: %j and %j', (current, payload, path) => {
    expect(mergeUpdate(current, payload)).toEqual({ conflict: { path, detail: expect.any(String) } });
  });

  it('a key is a key, whatever its name', () => {
    const payload = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"a":1}}') as JsonObject;
    const result = merged({}, payload);
    expect(JSON.stringify(result)).toBe('{"__proto__":{"polluted":1},"constructor":{"a":1}}');
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
    expect(JSON.stringify(merged(result, payload))).toBe(JSON.stringify(result));
  });

  it('holds for any two objects: idempotent, nothing lost, neither argument changed', () => {
    const object = fc.dictionary(
      fc.string({ maxLength: 3 }),
      fc.jsonValue({ maxDepth: 3 }),
    ) as fc.Arbitrary<JsonObject>;
    fc.assert(
      fc.property(object, object, (current, payload) => {
        const before = JSON.stringify([current, payload]);
        const done = mergeUpdate(current, payload);
        expect(JSON.stringify([current, payload])).toBe(before);
        if ('conflict' in done) return;
        for (const key of Object.keys(current)) expect(Object.hasOwn(done.merged, key)).toBe(true);
        for (const key of Object.keys(payload)) expect(Object.hasOwn(done.merged, key)).toBe(true);
        const again = mergeUpdate(done.merged, payload);
        expect(again).toEqual({ merged: done.merged });
      }),
      { numRuns: 500 },
    );
  });

  it('writes references to other repositories in one spelling', () => {
    expect(merged({}, { ref: 'git@github.com:Org/App.git:tf_modules/gcp-gke' })).toEqual({
      ref: 'github.com/org/app:tf_modules/gcp-gke',
    });
    const kept = { url: 'https://example.test/a/b/c', time: '10:20/30', image: 'docker.io/library/nginx:1.2/x y' };
    expect(merged({}, kept)).toEqual(kept);
  });
});

describe('references to other repositories', () => {
  it.each([
    ['github.com/org/repo:table/name', 'github.com/org/repo'],
    ['https://GitHub.com/Org/Repo.git:table/a/b', 'github.com/org/repo'],
    ['gitlab.example/group/sub/repo:tf-modules/x', 'gitlab.example/group/sub/repo'],
  ])('%s', (text, workspace) => {
    expect(parseResourceReference(text)?.workspace).toBe(workspace);
  });

  it.each([
    'repo:table/name',
    'org/repo:table/name',
    'github.com/org/repo',
    'github.com/org/repo:table',
    'github.com/org/repo:table/../x',
    'github.com/../repo:t/n',
    '',
  ])('not %j', (text) => {
    expect(parseResourceReference(text)).toBeNull();
  });

  it('normalises remotes', () => {
    for (const remote of [
      'https://github.com/Org/Repo.git',
      'git@github.com:org/repo.git',
      'ssh://git@github.com/org/repo',
      'git+ssh://git@github.com/org/repo.git/',
    ])
      expect(normaliseRemote(remote)).toBe('github.com/org/repo');
    expect(isMisspeltReference('github.com/org/repo:t/n')).toBe(false);
  });
});
