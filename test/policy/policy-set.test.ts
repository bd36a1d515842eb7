import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { PolicySet } from '../../src/model/policy.ts';
import { NO_SPAWNS, trace } from '../../src/policy/identity.ts';
import { readStatements } from '../../src/policy/statements.ts';
import { sha256Hex } from '../../src/sign/digest.ts';
import type { SigningKey } from '../../src/sign/private-key.ts';
import { DAY, keyOnDisk, later, NOW, policyYaml, revocation, WORKSPACE, type World, world } from './given.ts';

let given: World;
beforeEach(async () => {
  given = await world();
});

const codes = (set: PolicySet): readonly string[] => set.findings.map((one) => one.code);
const at = (path: string): string => join(given.root.path, path);
const remove = (path: string): void => rmSync(at(path));
const SET = 'policies/policy.dsse.json';

/** Nobody is proven and the built-in defaults judge. */
function expectNobody(set: PolicySet, root: PolicySet['root'], found: readonly string[]): void {
  expect(codes(set)).toEqual(found);
  expect(set).toMatchObject({
    root,
    intact: false,
    keys: [],
    roots: [],
    exceptions: [],
    constitution: null,
    digest: null,
  });
  expect(set.policy.principals.size).toBe(0);
  expect(trace(set, NO_SPAWNS, given.sovereign.publicKey.fingerprint, 'writ', NOW)).toBeNull();
}

describe('a set that is pinned and intact', () => {
  it('proves its principals', async () => {
    const set = await given.read();
    expect(set).toMatchObject({
      root: 'pinned',
      intact: true,
      workspace: WORKSPACE,
      version: 1,
      floor: 1,
      findings: [],
    });
    expect(set.constitution).toBe(`sha256:${sha256Hex('# F1\n')}`);
    expect(set.digest).toBe(given.set.sealed.payloadDigest);
    expect([...set.documents]).toEqual([['policies/constitution.md', sha256Hex('# F1\n')]]);
    expect(trace(set, NO_SPAWNS, given.sovereign.publicKey.fingerprint, 'writ', NOW)?.identity.role).toBe('sovereign');
  });

  it('a new version, rules and exceptions that it lists', async () => {
    given.write('policies/rules/a.yaml', 'x: 1\n');
    given.write(
      'policies/exceptions.yaml',
      '- {code: manifest-missing, path: A.md, owner: f13, reason: old, until: 2026-10-01T00:00:00Z}\n',
    );
    await given.sign();
    const set = await given.read();
    expect(set).toMatchObject({
      intact: true,
      version: 2,
      floor: 1,
      ruleFiles: [{ path: 'policies/rules/a.yaml' }],
      findings: [],
    });
    expect(set.exceptions).toHaveLength(1);
  });
});

describe('who signed it', () => {
  it('no set at all', async () => {
    remove(SET);
    expectNobody(await given.read(), 'unpinned', ['root-unpinned']);
  });

  it('no set at all, in a checkout that had one', async () => {
    remove(SET);
    expectNobody(await given.read({ remembered: { checkout: WORKSPACE } }), 'mismatch', ['root-mismatch']);
  });

  it('no pin', async () => {
    const set = await given.read({ pins: [] });
    expectNobody(set, 'unpinned', ['root-unpinned']);
    expect(set.workspace).toBe(WORKSPACE);
    expect(set.findings[0]?.message).toContain(given.sovereign.publicKey.fingerprint);
    expect(set.findings[0]?.cure).toContain('writ trust pin');
  });

  it('a pin for another workspace', async () => {
    expectNobody(await given.read({ pins: [{ ...given.pin, workspace: `${WORKSPACE}2` }] }), 'unpinned', [
      'root-unpinned',
    ]);
  });

  it('a pin for another root', async () => {
    const other = await keyOnDisk();
    const set = await given.read({ pins: [{ ...given.pin, roots: [other.publicKey.fingerprint] }] });
    expectNobody(set, 'mismatch', ['root-mismatch']);
    expect(set.findings[0]?.message).toContain(given.sovereign.publicKey.fingerprint);
  });

  it('signed by another principal of the set, not by its root', async () => {
    await given.sign({}, { keys: [given.approver] });
    expectNobody(await given.read(), 'mismatch', ['root-mismatch']);
  });

  it.each([
    ['garbage', () => '}{'],
    ['nothing', () => ''],
    ['cut short', () => readFileSync(at(SET), 'utf8').slice(0, -40)],
    ['without signatures', () => JSON.stringify({ ...JSON.parse(readFileSync(at(SET), 'utf8')), signatures: [] })],
    [
      'with another payload',
      () => {
        const envelope = JSON.parse(readFileSync(at(SET), 'utf8')) as { payload: string };
        const payload = Buffer.from(envelope.payload, 'base64').toString().replace('"floor":1', '"floor":0');
        return JSON.stringify({ ...envelope, payload: Buffer.from(payload).toString('base64') });
      },
    ],
  ])('%s', async (_name, text) => {
    writeFileSync(at(SET), text());
    expectNobody(await given.read(), 'unpinned', ['policy-unsigned']);
  });

  it('a statement of another kind in its place', async () => {
    await given.seal(revocation({ actor: 'lead' }), [given.sovereign], { file: SET });
    expectNobody(await given.read(), 'unpinned', ['policy-unsigned']);
  });

  it('another pinned workspace\u2019s set copied in is found by what this checkout was', async () => {
    const other = await world('example.com/evil/other');
    rmSync(at('policies'), { recursive: true });
    renameSync(join(other.root.path, 'policies'), at('policies'));
    const pins = [given.pin, other.pin];
    expect((await given.read({ pins })).workspace).toBe('example.com/evil/other');
    const set = await given.read({ pins, remembered: { checkout: WORKSPACE } });
    expectNobody(set, 'mismatch', ['root-mismatch']);
    expect(set.findings[0]?.message).toMatch(/example\.com\/acme\/app.*example\.com\/evil\/other/);
  });
});

describe('whether it is unaltered', () => {
  it.each([
    'policies/policy.yaml',
    'policies/allowed_signers',
    'policies/constitution.md',
    'policies/exceptions.yaml',
    'policies/rules/a.yaml',
  ])('%s: changed, gone, a link', async (path) => {
    given.write('policies/rules/a.yaml', 'x: 1\n');
    given.write('policies/exceptions.yaml', '[]\n');
    await given.sign();
    const before = readFileSync(at(path), 'utf8');
    for (const [spoil, why] of [
      [() => writeFileSync(at(path), `${before}\n`), /not the file that was signed/],
      [() => writeFileSync(at(path), ''), /not the file that was signed/],
      [() => remove(path), /cannot be read/],
      [
        () => {
          writeFileSync(at('elsewhere'), before);
          remove(path);
          symlinkSync(at('elsewhere'), at(path));
        },
        /is a link/,
      ],
      [
        () => {
          remove(path);
          symlinkSync('/etc/hostname', at(path));
        },
        /cannot be read/,
      ],
      [
        () => {
          remove(path);
          mkdirSync(at(path));
        },
        /cannot be read/,
      ],
    ] as const) {
      spoil();
      const set = await given.read();
      expectNobody(set, 'pinned', ['policy-altered']);
      expect(set.findings[0]).toMatchObject({ file: path });
      expect(set.findings[0]?.message).toMatch(why);
      rmSync(at(path), { recursive: true, force: true });
      writeFileSync(at(path), before);
      expect((await given.read()).intact).toBe(true);
    }
  });

  it('a principal added to policy.yaml and a key to allowed_signers without a signature prove nobody', async () => {
    writeFileSync(at('policies/policy.yaml'), `${policyYaml()}  evil: sovereign\n`);
    writeFileSync(at('policies/allowed_signers'), `evil ${(await keyOnDisk()).publicKey.line}\n`);
    expectNobody(await given.read(), 'pinned', ['policy-altered', 'policy-altered']);
  });

  it('rules and exceptions it does not list are ignored and told', async () => {
    given.write('policies/rules/evil.yaml', 'x: 1\n');
    given.write(
      'policies/exceptions.yaml',
      '- {code: manifest-missing, path: A.md, owner: f13, reason: x, until: 2026-10-01T00:00:00Z}\n',
    );
    const set = await given.read();
    expect(set).toMatchObject({ intact: true, exceptions: [], ruleFiles: [] });
    expect(set.findings.map((one) => [one.code, one.file])).toEqual([
      ['policy-file-unlisted', 'policies/exceptions.yaml'],
      ['policy-file-unlisted', 'policies/rules/evil.yaml'],
    ]);
  });
});

describe('whether it is too old or ran out', () => {
  it('below the floor of the pin, or of what this machine remembers', async () => {
    expectNobody(await given.read({ pins: [{ ...given.pin, floor: 2 }] }), 'pinned', ['policy-below-floor']);
    const set = await given.read({ remembered: { floor: 5 } });
    expectNobody(set, 'pinned', ['policy-below-floor']);
    expect(set.findings[0]?.message).toMatch(/version 1.*is 5/);
  });

  it('an old set checked out again is no rollback until the floor was raised', async () => {
    const old = readFileSync(at(SET));
    await given.sign();
    writeFileSync(at(SET), old);
    expect((await given.read({ pins: [{ ...given.pin, version: 2 }] })).intact).toBe(true);
    const raised = await given.sign({}, { raiseFloor: true });
    writeFileSync(at(SET), old);
    expectNobody(await given.read({ remembered: { floor: raised.floor } }), 'pinned', ['policy-below-floor']);
  });

  it('run out', async () => {
    const { predicate } = await readSet();
    const subjects = [{ name: 'policies/policy.yaml', sha256: sha256Hex(readFileSync(at('policies/policy.yaml'))) }];
    await given.seal({ ...predicate, expiresAt: later(DAY) }, [given.sovereign], { subjects });
    expect((await given.read()).intact).toBe(true);
    expectNobody(await given.read({ now: later(DAY) }), 'pinned', ['policy-expired']);
  });

  it('a clock set back', async () => {
    const pins = [{ ...given.pin, seen: later(3 * DAY) }];
    expectNobody(await given.read({ pins }), 'pinned', ['state-unavailable']);
    expect((await given.read({ pins, now: later(2 * DAY + 1) })).intact).toBe(true);
  });

  it('several faults are all told', async () => {
    remove('policies/constitution.md');
    const set = await given.read({ pins: [{ ...given.pin, floor: 2, seen: later(3 * DAY) }] });
    expectNobody(set, 'pinned', ['policy-below-floor', 'state-unavailable', 'policy-altered']);
  });
});

async function readSet() {
  const { openStatement } = await import('../../src/sign/statement.ts');
  const opened = openStatement(readFileSync(at(SET)), SET);
  if ('refused' in opened || opened.predicate.type !== 'policy') throw new Error('no set');
  return { ...opened, predicate: opened.predicate };
}

/** Signs a set over whatever lies there, as a root that skipped the checks of the command would. */
async function signBlindly(over: Readonly<Record<string, string>>, drop: readonly string[] = []): Promise<void> {
  const { predicate } = await readSet();
  for (const [path, text] of Object.entries(over)) given.write(path, text);
  const files = Object.fromEntries(
    [...new Set([...Object.keys(predicate.files), ...Object.keys(over)])]
      .filter((path) => !drop.includes(path))
      .map((path) => [path, sha256Hex(readFileSync(at(path)))]),
  );
  await given.seal({ ...predicate, files }, [given.sovereign], {
    subjects: [{ name: 'policies/policy.yaml', sha256: files['policies/policy.yaml'] ?? '0'.repeat(64) }],
  });
}

describe('what it says', () => {
  it.each([
    [
      'policy.yaml that breaks its format',
      { 'policies/policy.yaml': `${policyYaml()}nonsense: 1\n` },
      'policies/policy.yaml',
      8,
      1,
    ],
    [
      'another workspace id than the one signed',
      { 'policies/policy.yaml': policyYaml('other') },
      'policies/policy.yaml',
      2,
      1,
    ],
    [
      'a wildcard in allowed_signers',
      { 'policies/allowed_signers': '# keys\n* ssh-ed25519 AAAA\n' },
      'policies/allowed_signers',
      2,
      1,
    ],
    [
      'a certificate authority',
      { 'policies/allowed_signers': 'f13 cert-authority ssh-ed25519 AAAA\n' },
      'policies/allowed_signers',
      1,
      1,
    ],
    [
      'a key that is none',
      { 'policies/allowed_signers': 'f13 ssh-ed25519 AAAAgarbage\n' },
      'policies/allowed_signers',
      1,
      1,
    ],
    [
      'exceptions that break their format',
      {
        'policies/exceptions.yaml':
          '- {code: revoked, path: A.md, owner: f13, reason: x, until: 2026-10-01T00:00:00Z}\n',
      },
      'policies/exceptions.yaml',
      1,
      10,
    ],
  ])('%s', async (_name, over, file, line, column) => {
    await signBlindly(over);
    const set = await given.read();
    expectNobody(set, 'pinned', ['policy-invalid']);
    expect(set.findings[0]).toMatchObject({ file, line, column });
  });

  it('two principals with one key', async () => {
    const { line } = given.sovereign.publicKey;
    await signBlindly({ 'policies/allowed_signers': `f13 ${line}\nlead ${line}\n` });
    expectNobody(await given.read(), 'pinned', ['policy-invalid']);
  });

  it('a set that lists no policy.yaml or no allowed_signers', async () => {
    await signBlindly({}, ['policies/allowed_signers']);
    expectNobody(await given.read(), 'pinned', ['policy-altered']);
  });

  it('a constitution document it does not list', async () => {
    await signBlindly({}, ['policies/constitution.md']);
    const set = await given.read();
    expect(codes(set)).toEqual(['constitution-unavailable']);
    expect(set).toMatchObject({ intact: false, constitution: null });
    expect(trace(set, NO_SPAWNS, given.sovereign.publicKey.fingerprint, 'writ', NOW)).toBeNull();
  });

  it('no constitution at all', async () => {
    await signBlindly({ 'policies/policy.yaml': policyYaml().replace('[policies/constitution.md]', '[]') });
    const set = await given.read();
    expect([set.intact, codes(set)]).toEqual([false, ['constitution-unavailable']]);
  });

  it('several documents have one hash', async () => {
    given.write('b.md', 'b');
    await given.sign({
      'policies/policy.yaml': policyYaml().replace('[policies/constitution.md]', '[policies/constitution.md, b.md]'),
    });
    const set = await given.read();
    expect(set.constitution).toBe(
      `sha256:${sha256Hex(`${sha256Hex('b')}  b.md\n${sha256Hex('# F1\n')}  policies/constitution.md\n`)}`,
    );
  });
});

describe('rotation of the root', () => {
  let fresh: SigningKey;
  const archive = (version: number): void => given.write(`policies/roots/${version}.dsse.json`, readFileSync(at(SET)));
  beforeEach(async () => {
    fresh = await keyOnDisk();
  });
  const rotate = (keys: readonly SigningKey[], to: SigningKey = fresh) =>
    given.sign({}, { keys, roots: [to.publicKey.fingerprint], raiseFloor: true });

  it('a set signed by old and new root stands under the old pin', async () => {
    await rotate([given.sovereign, fresh]);
    expect(await given.read()).toMatchObject({
      root: 'pinned',
      intact: true,
      version: 2,
      roots: [fresh.publicKey.fingerprint],
    });
  });

  it('the next set, signed by the new root alone, stands by the archived rotation', async () => {
    await rotate([given.sovereign, fresh]);
    archive(2);
    await given.sign({}, { keys: [fresh] });
    expect(await given.read()).toMatchObject({ intact: true, version: 3 });
    rmSync(at('policies/roots'), { recursive: true });
    expectNobody(await given.read(), 'mismatch', ['root-mismatch']);
  });

  it('two rotations in a row, from the first pin and from the second', async () => {
    const third = await keyOnDisk();
    await rotate([given.sovereign, fresh]);
    archive(2);
    await rotate([fresh, third], third);
    archive(3);
    await given.sign({}, { keys: [third] });
    expect((await given.read()).intact).toBe(true);
    expect((await given.read({ pins: [{ ...given.pin, roots: [fresh.publicKey.fingerprint] }] })).intact).toBe(true);
  });

  it('after a rotation the old root is spent', async () => {
    await rotate([given.sovereign, fresh]);
    archive(2);
    await given.sign({}, { keys: [given.sovereign], roots: [given.sovereign.publicKey.fingerprint] });
    expectNobody(await given.read(), 'mismatch', ['root-mismatch']);
  });

  it('a set that names a root which did not sign it', async () => {
    await rotate([given.sovereign]);
    const set = await given.read();
    expectNobody(set, 'mismatch', ['root-mismatch']);
    expect(set.findings[0]?.message).toMatch(/neither the pin knows nor has signed/);
  });

  it('a rotation signed by the new root alone, or archived so, hands nothing on', async () => {
    await rotate([fresh]);
    expectNobody(await given.read(), 'mismatch', ['root-mismatch']);
    archive(2);
    await given.sign({}, { keys: [fresh] });
    expectNobody(await given.read(), 'mismatch', ['root-mismatch']);
  });

  it('garbage, a link and another workspace\u2019s rotation in the archive hand nothing on', async () => {
    await rotate([given.sovereign, fresh]);
    given.write('elsewhere.json', readFileSync(at(SET)));
    await given.sign({}, { keys: [fresh] });
    const other = await world('example.com/evil/other');
    given.write('policies/roots/1.dsse.json', '}{');
    await other.sign({}, { keys: [other.sovereign, fresh], roots: [fresh.publicKey.fingerprint] });
    given.write('policies/roots/2.dsse.json', readFileSync(join(other.root.path, SET)));
    symlinkSync(at('elsewhere.json'), at('policies/roots/3.dsse.json'));
    expectNobody(await given.read(), 'mismatch', ['root-mismatch']);
    given.write('policies/roots/4.dsse.json', readFileSync(at('elsewhere.json')));
    expect((await given.read()).intact).toBe(true);
  });
});

describe('revocations', () => {
  const revokeLead = () => given.seal(revocation({ actor: 'lead' }), [given.sovereign]);

  it('one in the folder stands, listed or not', async () => {
    await revokeLead();
    for (const isListed of [false, true]) {
      if (isListed) await given.sign();
      const set = await given.read();
      expect([set.intact, set.revocations.length, codes(set)]).toEqual([true, 1, []]);
      expect(trace(set, NO_SPAWNS, given.approver.publicKey.fingerprint, 'writ', NOW)).toBeNull();
    }
  });

  it('one that the set lists is gone: nobody is proven', async () => {
    const { file, payloadDigest } = await revokeLead();
    await given.sign();
    remove(file);
    const set = await given.read();
    expect([set.intact, codes(set)]).toEqual([false, ['revocation-missing']]);
    expect(set.findings[0]?.message).toContain(payloadDigest.slice(0, 16));
    expect(set.findings[0]?.message).not.toMatch(/still applies/);
  });

  it('one that this machine remembers is gone: it still applies, and nobody is proven', async () => {
    const { file, payloadDigest, text } = await revokeLead();
    for (const isListed of [false, true]) {
      if (isListed) await given.sign();
      remove(file);
      const set = await given.read({ remembered: { revocations: new Map([[payloadDigest, text]]) } });
      expect([set.intact, codes(set), set.revocations.length]).toEqual([false, ['revocation-missing'], 1]);
      expect(set.revocations[0]?.file).toBe(`state:${payloadDigest.slice(0, 16)}`);
      expect(set.findings[0]?.message).toMatch(/still applies/);
      given.write(file, text);
      expect((await given.read({ remembered: { revocations: new Map([[payloadDigest, text]]) } })).intact).toBe(true);
    }
  });

  it('one that is remembered, gone, and does not open from memory either is not passed over', async () => {
    const { file, payloadDigest, text } = await revokeLead();
    const other = await given.seal(revocation({ actor: 'nobody' }), [given.sovereign]);
    await given.sign();
    remove(file);
    for (const spoilt of ['}{', text.slice(0, -9), other.text]) {
      const set = await given.read({ remembered: { revocations: new Map([[payloadDigest, spoilt]]) } });
      expect([set.intact, codes(set)]).toEqual([false, ['revocation-missing']]);
    }
  });

  it('what is remembered applies where the set is gone or altered', async () => {
    const { payloadDigest, text } = await revokeLead();
    const remembered = { revocations: new Map([[payloadDigest, text]]) };
    writeFileSync(at('policies/policy.yaml'), 'version: 1\n');
    expect((await given.read({ remembered })).revocations).toHaveLength(1);
    remove(SET);
    expect((await given.read({ remembered })).revocations).toHaveLength(1);
  });

  it('one replaced by garbage is gone', async () => {
    const { file } = await revokeLead();
    await given.sign();
    writeFileSync(at(file), '}{');
    expect(codes(await given.read())).toEqual(['statement-invalid', 'revocation-missing']);
  });

  it('a folder that cannot be read', async () => {
    given.write('policies/revocations', 'a file');
    const set = await given.read();
    expect([set.intact, codes(set)]).toEqual([false, ['proofs-unreadable', 'revocation-missing']]);
  });
});

describe('statement files', () => {
  it('each that proves nothing is a finding that says why', async () => {
    const good = await given.seal(revocation({ actor: 'a' }), [given.sovereign]);
    const folder = 'policies/revocations';
    given.write(`${folder}/garbage.dsse.json`, '}{');
    given.write(`${folder}/copy.dsse.json`, good.text);
    given.write(`${folder}/huge.dsse.json`, `${good.text}${' '.repeat(70_000)}`);
    given.write(`${folder}/README.md`, 'no statement');
    await given.seal(revocation({ actor: 'b' }), [given.sovereign], {
      workspace: 'other',
      file: `${folder}/other.dsse.json`,
    });
    given.write(`${folder}/policy.dsse.json`, readFileSync(at(SET)));
    symlinkSync(at(good.file), at(`${folder}/link.dsse.json`));
    const read = readStatements(given.root, folder, 'revocation', WORKSPACE);
    expect(read.whole).toBe(true);
    expect(read.statements.map((one) => one.payloadDigest)).toEqual([good.payloadDigest]);
    expect(
      read.findings.map((one) => [
        one.code,
        one.file?.split('/').at(-1),
        /: (.*)\./.exec(one.message)?.[1]?.split('(')[0]?.trim(),
      ]),
    ).toEqual([
      ['statement-invalid', 'garbage.dsse.json', 'its signature or form does not stand'],
      ['statement-invalid', 'huge.dsse.json', 'it cannot be read'],
      ['statement-invalid', 'link.dsse.json', 'it is a link'],
      ['statement-invalid', 'other.dsse.json', 'it speaks for another workspace'],
      ['statement-invalid', 'policy.dsse.json', 'it is no revocation statement'],
    ]);
  });

  it.each([
    ['a file', (path: string) => writeFileSync(path, '')],
    ['a link to itself', (path: string) => symlinkSync('spawns', path)],
    ['a link to nothing', (path: string) => symlinkSync('nowhere', path)],
    ['a link to a folder', (path: string) => symlinkSync('revocations', path)],
  ])('%s in place of the folder is no empty folder', (_name, make) => {
    mkdirSync(at('policies/revocations'), { recursive: true });
    make(at('policies/spawns'));
    const read = readStatements(given.root, 'policies/spawns', 'spawn', WORKSPACE);
    expect([read.whole, read.findings.map((one) => [one.code, one.file])]).toEqual([
      false,
      [['proofs-unreadable', 'policies/spawns']],
    ]);
  });

  it('more files than are ever read', () => {
    mkdirSync(at('policies/spawns'));
    for (let n = 0; n <= 100_000; n += 1) writeFileSync(at(`policies/spawns/${n}.dsse.json`), '');
    const read = readStatements(given.root, 'policies/spawns', 'spawn', WORKSPACE);
    expect([read.whole, read.statements, read.findings[0]?.code]).toEqual([false, [], 'proofs-unreadable']);
  }, 60_000);

  it('a folder that is not there holds none', () => {
    expect(readStatements(given.root, 'policies/spawns', 'spawn', WORKSPACE)).toEqual({
      statements: [],
      findings: [],
      whole: true,
    });
  });
});
