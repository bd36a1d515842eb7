// How fast a handoff is verified, warm, in this process, against the bare Ed25519 check inside it.
import { createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

const RUNS = 2_000;

/** @returns rows of figures against their limits. `base` is a folder of the bench’s own. */
export async function measureHandoffs(base) {
  const { DEFAULT_POLICY, DEFAULT_RULES, newKeyPair, NO_SPAWNS, openHandoff, openSigningKey, sealHandoff } =
    await load();
  const pair = newKeyPair('orch');
  const file = join(base, 'handoff.key');
  writeFileSync(file, pair.privateKey, { mode: 0o600 });
  const key = await openSigningKey(file);
  const principals = new Map([['orch', { role: 'orchestrator', paths: null, departed: null, keeps: [] }]]);
  const line = { principal: 'orch', namespaces: null, validAfter: null, validBefore: null };
  const set = {
    intact: true,
    workspace: 'example.test/bench',
    policy: { ...DEFAULT_POLICY, principals },
    keys: [{ ...line, ...key.publicKey, publicKey: key.publicKey.line }],
    revocations: [],
    endorsed: new Set(),
  };
  const by = { set, spawns: NO_SPAWNS, rules: DEFAULT_RULES };
  const now = Date.now();
  const signer = { key, identity: { principal: 'orch', role: 'orchestrator', scopes: [], chain: ['orch'] } };
  const draft = {
    to: 'worker',
    intent: 'Make the export test pass on main.',
    constraints: ['F1', 'F2'],
    evidence: Array.from({ length: 6 }, (_, at) => ({
      source: `npm test, run ${at}: 41 of 42 pass`,
      rung: 'OBS',
      confidence: 0.9,
    })),
    steps: Array.from({ length: 6 }, (_, at) => ({
      step: at + 1,
      action: `looked at module ${at}`,
      result: 'the clock is read twice, and the second read may lie in the next hour',
      status: 'done',
    })),
    floors: { F01: 'PASS', F02: 'CHECKING' },
    next: ['read the clock once', 'run the test a hundred times'],
    note: 'out of time',
    level: 'T1',
    taskId: 'export-7',
    supersedes: null,
    returns: null,
    expiresAt: now + 600_000,
    finishBy: now + 86_400_000,
    prev: null,
  };
  const sealed = await sealHandoff(draft, signer, by, now);
  if ('refused' in sealed) throw new Error(sealed.refused.message);
  const bytes = Buffer.from(sealed.text);
  const opening = { ...by, now, audience: 'worker', seen: () => false };
  const open = async () => {
    const opened = await openHandoff(bytes, opening);
    if (!('artifact' in opened)) throw new Error(opened.refused.message);
  };
  const raw = rawCheck();
  for (let at = 0; at < RUNS; at += 1) await open();
  for (let at = 0; at < RUNS; at += 1) raw();
  const ratios = [];
  let best = 0;
  for (let round = 0; round < 5; round += 1) {
    const whole = await perSecond(open);
    const bare = await perSecond(raw);
    ratios.push(bare / whole);
    best = Math.max(best, whole);
  }
  const ratio = ratios.sort((a, b) => a - b)[2];
  const note = `${bytes.length} bytes, one hop`;
  return [
    {
      line: 'handoffs verified a second, one core',
      figure: best.toFixed(0),
      limit: '>= 1000',
      passed: best >= 1_000,
      note,
    },
    {
      line: 'a handoff, against one bare Ed25519 check',
      figure: `${ratio.toFixed(2)} x`,
      limit: '-',
      passed: true,
      note,
    },
  ];
}

async function perSecond(work) {
  const began = performance.now();
  for (let at = 0; at < RUNS; at += 1) await work();
  return RUNS / ((performance.now() - began) / 1e3);
}

function rawCheck() {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const message = Buffer.alloc(800, 1);
  const signature = sign(null, message, privateKey);
  const key = createPublicKey(publicKey.export({ type: 'spki', format: 'pem' }));
  return () => {
    if (!verify(null, message, key, signature)) throw new Error('it does not verify');
  };
}

async function load() {
  const modules = {
    'src/policy/defaults.ts': 'DEFAULT_POLICY',
    'src/scan/default-rules.ts': 'DEFAULT_RULES',
    'src/sign/new-key.ts': 'newKeyPair',
    'src/policy/identity.ts': 'NO_SPAWNS',
    'src/handoff/open.ts': 'openHandoff',
    'src/sign/private-key.ts': 'openSigningKey',
    'src/handoff/seal.ts': 'sealHandoff',
  };
  const root = join(import.meta.dirname, '..');
  const contents = Object.entries(modules)
    .map(([path, name]) => `export { ${name} } from './${path}';`)
    .join('\n');
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: root },
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    packages: 'external',
    logLevel: 'silent',
  });
  const outfile = join(root, 'node_modules', `.writ-bench-handoff-${process.pid}.mjs`);
  const { rmSync } = await import('node:fs');
  writeFileSync(outfile, outputFiles[0].contents);
  try {
    return await import(outfile);
  } finally {
    rmSync(outfile, { force: true });
  }
}
