// Judges one file with `writ/core`, which reads nothing by itself: this program reads. Usage: core.js FOLDER FILE WORKSPACE ROOT
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CODES, evidenceFor, instant, judge, openPolicy, parse, verifyStatement } from 'writ/core';

const [folder = '.', file = 'AGENTS.md', workspace = '', root = ''] = process.argv.slice(2);
const read = (path: string): Uint8Array => readFileSync(join(folder, path));

const envelope = read('policies/policy.dsse.json');
const set = verifyStatement(envelope);
if ('refused' in set || set.predicate.type !== 'policy') throw new Error('the policy set is not signed');

const statements = ['spawns', 'authorship', 'approvals', 'revocations']
  .map((name) => `policies/${name}`)
  .filter((name) => existsSync(join(folder, name)))
  .flatMap((name) => readdirSync(join(folder, name)).map((one) => read(`${name}/${one}`)));
const files = Object.keys(set.predicate.files).map((path) => ({ path, content: read(path) }));
const sidecars = [`${file}.manifest.yaml`]
  .filter((path) => existsSync(join(folder, path)))
  .map((path) => ({ path, content: read(path) }));

// The pin comes from outside the workspace; the instant is taken once.
const now = instant(Date.now());
const pin = { workspace, roots: [root], floor: 1, dir: 'policies' };
const policy = await openPolicy({ set: envelope, files, statements }, pin, now);
const { artifacts } = await parse({ path: file, content: read(file), sidecars });
for (const verdict of judge(await evidenceFor(artifacts, policy, now), policy, now)) {
  console.log(`${file} loads as ${verdict.rank}`);
  for (const { code } of verdict.findings) {
    if (code in CODES) console.log(`${code}: ${CODES[code as keyof typeof CODES].meaning}`);
  }
}
