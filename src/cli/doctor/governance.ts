import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { exists, readOnce } from '../../files/read-once.ts';
import { remoteUrl } from '../../git/git.ts';
import { CODES, entryOf, isCodeName } from '../../model/codes.ts';
import { escapePath, excerpt } from '../../model/escaped.ts';
import { type Instant, isoOf, shift } from '../../model/instant.ts';
import { wasRead } from '../../model/source.ts';
import { parseStrictYaml } from '../../parse/strict-yaml.ts';
import { bindingApprovals } from '../../policy/approvals.ts';
import { pinOf } from '../../policy/pins.ts';
import { scanText } from '../../scan/scan.ts';
import { toRule } from '../../scan/to-rule.ts';
import { idFromRemote } from '../workspace-id.ts';
import { type Check, fail, ok, type Patient, type Subject, unchecked, warn } from './check.ts';
import { faultOf } from './machine.ts';

const DAY = 86_400_000;
const SOON = 30 * DAY;
/** Most lines of one kind. */
const MAX_TOLD = 10;
const MAX_ENTRIES = 5_000;
const ATTRIBUTES_BYTES = 1_048_576;
const RULE_YAML = { bytes: 65_536, depth: 8 };

/** The policy set, its pin, its files, the rules it brings, what runs out, and the home. */
export const GOVERNANCE: readonly Subject[] = [
  { id: 'set', run: checkSet },
  { id: 'pin', run: checkPin },
  { id: 'policy-files', run: checkPermissions },
  { id: 'rules', run: checkRules },
  { id: 'attributes', run: checkAttributes },
  { id: 'expiring', run: checkExpiring },
  { id: 'home', run: checkHome },
];

/** Codes about the set that a person mends by signing or restoring; a rule that is broken has lines of its own. */
function checkSet({ judgement }: Patient): readonly Check[] {
  const { set, findings } = judgement;
  if (set.root === 'unpinned' && set.workspace === null && !findings.some((one) => one.code === 'policy-unsigned'))
    return [warn('set', 'No policy set: nothing is governed here.', 'writ init')];
  const told = findings.filter(
    (one) =>
      isCodeName(one.code) &&
      !one.message.startsWith('Your own set:') &&
      (CODES[one.code].stage === 'set' || one.code === 'policy-file-unlisted'),
  );
  const checks = told.slice(0, MAX_TOLD * 2).map((one): Check => {
    const place =
      one.file === undefined || one.message.includes(one.file)
        ? ''
        : `${escapePath(one.file)}${one.line === null ? '' : `:${one.line}`}: `;
    const message = `${one.code}: ${place}${one.message}`;
    if (entryOf(one).unchecked === true) return unchecked('set', message, one.cure);
    const soft = entryOf(one).effect === 'note' && entryOf(one).everywhere !== true;
    return soft ? warn('set', message, one.cure) : fail('set', message, one.cure);
  });
  if (checks.length > 0) return checks;
  return set.intact
    ? [
        ok(
          'set',
          `${escapePath(set.workspace ?? '')}, version ${set.version}, floor ${set.floor}; signed, and as it was signed.`,
        ),
      ]
    : [fail('set', 'The policy set does not stand, so nobody is proven.', 'writ trust show')];
}

async function checkPin({ workspace, judgement, pins }: Patient): Promise<readonly Check[]> {
  if (pins === null) return [unchecked('pin', 'The pins cannot be read.', 'writ trust show')];
  const { set } = judgement;
  if (set.workspace === null) return [];
  const pin = pinOf(pins.pins, set.workspace);
  if (pin === null) return [fail('pin', `This machine has no pin for ${escapePath(set.workspace)}.`, 'writ trust pin')];
  const checks: Check[] = [];
  const where = { system: '/etc/writ', user: workspace.places.configDir, environment: 'WRIT_ROOT' }[pin.from];
  if (pin.from === 'user')
    checks.push(
      warn(
        'pin',
        `The pin lies in ${escapePath(where)}: what runs as you, agents too, can change it.`,
        'Let root keep it: sudo install -Dm644 ~/.config/writ/pins.yaml /etc/writ/pins.yaml',
      ),
    );
  else checks.push(ok('pin', `Pinned by ${where}.`));
  const url = workspace.repository === null ? null : await remoteUrl(workspace.repository);
  const proposed = url === null ? null : idFromRemote(url);
  if (proposed !== null && proposed !== set.workspace)
    checks.push(
      warn(
        'pin',
        `The id is ${escapePath(set.workspace)}, and the remote would propose ${escapePath(proposed)}.`,
        'Make sure that this is no copy of another repository’s policies.',
      ),
    );
  return checks;
}

/** Whoever may write the set can make it fail; proofs are signed, so not more than that. */
function checkPermissions({ workspace, judgement }: Patient): readonly Check[] {
  const { root } = workspace;
  const { dir } = judgement.set;
  if (!exists(join(root.path, dir))) return [];
  const pending = [dir];
  const checks: Check[] = [];
  let seen = 0;
  for (let at = pending.pop(); at !== undefined && seen < MAX_ENTRIES; at = pending.pop()) {
    checks.push(...faultOf('policy-files', join(root.path, at)));
    for (const entry of readdirSync(join(root.path, at), { withFileTypes: true })) {
      seen += 1;
      if (entry.isDirectory()) pending.push(`${at}/${entry.name}`);
      else checks.push(...faultOf('policy-files', join(root.path, at, entry.name)));
    }
  }
  if (checks.length > MAX_TOLD)
    return [
      ...checks.slice(0, MAX_TOLD),
      fail('policy-files', `and ${checks.length - MAX_TOLD} more.`, `chmod -R go-w ${dir}`),
    ];
  return checks.length > 0 ? checks : [ok('policy-files', `${dir}/ is written by its owner alone.`)];
}

/** The examples of every signed rule file; a broken one has refused the set, with its line, before this. */
async function checkRules({ judgement }: Patient): Promise<readonly Check[]> {
  const { ruleFiles, policy } = judgement.set;
  const checks: Check[] = [];
  for (const { path, text } of ruleFiles) {
    const read = await parseStrictYaml(text, 1, RULE_YAML);
    const made = 'fault' in read ? [] : toRule(read.value);
    if ('fault' in read || !('rule' in made)) continue;
    const { rule, bad, good } = made;
    const severities = (example: string): readonly string[] =>
      scanText(example, { workLimit: policy.limits.scanWork, rules: [rule] })
        .hits.filter((hit) => hit.rule === rule.id)
        .map((hit) => hit.severity);
    const wrong = [
      ...bad.flatMap((example, index) =>
        severities(example).includes(rule.severity) ? [] : [{ key: 'bad', index, example, why: 'is not found' }],
      ),
      ...good.flatMap((example, index) =>
        severities(example).includes(rule.severity) ? [{ key: 'good', index, example, why: 'is found' }] : [],
      ),
    ];
    for (const one of wrong.slice(0, MAX_TOLD)) {
      const node = read.document.getIn([one.key, one.index], true) as
        | { readonly range?: readonly number[] }
        | undefined;
      const line = node?.range ? read.lines.linePos(node.range[0] ?? 0).line : 1;
      checks.push(
        fail(
          'rules',
          `${escapePath(path)}:${line}: the ${one.key} example ${JSON.stringify(excerpt(one.example))} ${one.why}.`,
          'Correct the rule or its example, then: writ trust sign',
        ),
      );
    }
  }
  if (checks.length > 0) return checks;
  return ruleFiles.length === 0
    ? []
    : [
        ok(
          'rules',
          `${ruleFiles.length} rule ${ruleFiles.length === 1 ? 'file' : 'files'} of the set, every example as it says.`,
        ),
      ];
}

/** Line endings that change at a checkout break every digest. */
function checkAttributes({ workspace, judgement }: Patient): readonly Check[] {
  const { repository, root } = workspace;
  const { dir, workspace: id } = judgement.set;
  if (repository === null || id === null) return [];
  const read = readOnce(root, '.gitattributes', ATTRIBUTES_BYTES);
  const lines = wasRead(read)
    ? Buffer.from(read.bytes)
        .toString('utf8')
        .split(/\r?\n/)
        .map((line) => line.trim())
    : [];
  const missing = [`${dir}/** -text`].filter((line) => !lines.includes(line) && !lines.includes('* -text'));
  if (missing.length > 0)
    return [
      warn(
        'attributes',
        `.gitattributes lacks “${missing[0]}”: a checkout may change line endings under a digest.`,
        `echo '${missing[0]}' >> .gitattributes`,
      ),
    ];
  return [ok('attributes', '.gitattributes keeps the bytes of the policy set.')];
}

function checkExpiring({ judgement, workspace }: Patient): readonly Check[] {
  const { set, proofs, artifacts } = judgement;
  if (!set.intact) return [];
  const { now } = workspace;
  const soon = (end: Instant | null): end is Instant => end !== null && end <= shift(now, SOON);
  const past = (end: Instant): string => (end <= now ? 'ran out' : 'runs out');
  const approvals = bindingApprovals(proofs.live.all)
    .filter((one) => soon(one.expiresAt))
    .map((one) =>
      warn(
        'expiring',
        `The approval of ${escapePath(one.path)} by ${one.approver.principal} ${past(one.expiresAt ?? now)} ${isoOf(one.expiresAt ?? now)}.`,
        `writ approve ${escapePath(one.path)} --renew`,
      ),
    );
  const lapsed = artifacts
    .filter((one) => one.findings.some((found) => found.code === 'approval-expired'))
    .map(({ evidence }) => evidence.parsed.candidate.path)
    .map((path) =>
      warn('expiring', `The approval of ${escapePath(path)} ran out.`, `writ approve ${escapePath(path)} --renew`),
    );
  const spawns = [...proofs.spawns.byActor.values()]
    .flat()
    .filter(({ statement }) => statement.predicate.expiresAt <= now);
  const over =
    spawns.length === 0
      ? []
      : [
          warn(
            'expiring',
            `${spawns.length} spawn ${spawns.length === 1 ? 'record has' : 'records have'} run out: ${spawns
              .slice(0, MAX_TOLD)
              .map(({ statement }) => statement.predicate.actor)
              .join(', ')}.`,
            `Spawn again where the agent still works, or delete its file in ${set.dir}/spawns`,
          ),
        ];
  const ends = artifacts.flatMap(({ evidence, declaredClass, rank }) => {
    const end = evidence.claimed?.manifest.expiresAt ?? null;
    return rank !== 'quarantined' && soon(end)
      ? [{ path: evidence.parsed.candidate.path, end, cls: declaredClass ?? 'text' }]
      : [];
  });
  const texts = ends.map(({ path, end, cls }) =>
    warn(
      'expiring',
      `${escapePath(path)} (${cls}) ${past(end)} ${isoOf(end)}.`,
      `writ write ${escapePath(path)} --class ${cls} --expires 30d --from ${escapePath(path)}`,
    ),
  );
  const all = [...new Map([...lapsed, ...approvals, ...over, ...texts].map((one) => [one.message, one])).values()];
  if (all.length === 0) return [ok('expiring', 'Nothing runs out within 30 days.')];
  return all.length > MAX_TOLD * 2
    ? [
        ...all.slice(0, MAX_TOLD * 2),
        warn('expiring', `and ${all.length - MAX_TOLD * 2} more.`, 'writ approve --renew --expiring 30d'),
      ]
    : all;
}

function checkHome({ judgement, workspace }: Patient): readonly Check[] {
  if (workspace.user) return [];
  const open = judgement.artifacts.filter(({ findings }) => findings.some((one) => one.code === 'outside-workspace'));
  if (open.length === 0) return [ok('home', 'No host reads a file of your home or above that nobody governs.')];
  return [
    warn(
      'home',
      `${open.length} ${open.length === 1 ? 'file' : 'files'} outside the workspace that hosts read, governed by nobody: ${open
        .slice(0, 3)
        .map(({ evidence }) => escapePath(evidence.parsed.candidate.path))
        .join(', ')}${open.length > 3 ? ', ...' : ''}.`,
      'writ init --user',
    ),
  ];
}
