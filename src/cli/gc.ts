import { lstatSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { withLock } from '../files/lock.ts';
import { type Judgement, judge, prefixIn } from '../gate.ts';
import { listIndex } from '../git/batch.ts';
import { entryOf } from '../model/codes.ts';
import { escapePath } from '../model/escaped.ts';
import { durationMs, type Instant, shift } from '../model/instant.ts';
import type { Statement } from '../model/statement.ts';
import { type Present, spentAuthorship, spentSpawns } from '../policy/spent.ts';
import { readStatements } from '../policy/statements.ts';
import { listQuarantine } from '../quarantine/list.ts';
import { type Archived, archiveLedger } from '../record/archive.ts';
import { archiveOf } from '../store/location.ts';
import { isOpen, openStore } from '../store/store.ts';
import { removeStatement } from '../write/remove-statement.ts';
import { type Call, CannotError, EXIT, type Exit, flag, oneOf, RefusedError, text, UsageError } from './command.ts';
import { print } from './output.ts';
import { openWorkspace, toRequest, type Workspace } from './workspace.ts';

/** `writ gc`: clears up spawn records that ran out, authorship of what is gone, and old rows of the ledger. Never an approval or a revocation. */
export async function gc(call: Call): Promise<Exit> {
  const format = oneOf(call, 'format', ['text', 'json']) ?? 'text';
  const workspace = openWorkspace(call);
  const before = ago(call, 'older', '30d', workspace.now);
  const rowsBefore = ago(call, 'ledger-older', '90d', workspace.now);
  const dry = flag(call, 'dry-run');
  const proofs = await clearProofs(call, workspace, before, dry);
  const ledger = await clearLedger(call, workspace, rowsBefore, dry);
  const files = (list: readonly Statement[]): readonly string[] => list.map((one) => escapePath(one.file));
  if (format === 'json') {
    const told = {
      schema: 'writ.gc/1',
      dryRun: dry,
      spawns: files(proofs.spawns),
      authorship: files(proofs.authorship),
      ledger: { rows: ledger.rows, segments: ledger.segments },
    };
    await print(`${JSON.stringify(told, null, 1)}\n`);
    return EXIT.ok;
  }
  const did = dry ? 'would be removed' : 'removed';
  await print(
    [
      ...[...files(proofs.spawns), ...files(proofs.authorship)].map((file) => `${did}: ${file}`),
      `spawn records ${did}: ${proofs.spawns.length}`,
      `proofs of authorship ${did}: ${proofs.authorship.length}`,
      `ledger rows ${dry ? 'that would be archived' : 'archived'}: ${ledger.rows}${ledger.segments.length === 0 ? '' : `, in ${ledger.segments.map((one) => one.file).join(', ')}`}`,
      '',
    ].join('\n'),
  );
  return EXIT.ok;
}

interface Cleared {
  readonly spawns: readonly Statement[];
  readonly authorship: readonly Statement[];
}

const NOTHING: Cleared = { spawns: [], authorship: [] };

/** Under the same lock as `writ write`, so that no proof is judged gone while its text is being written. */
async function clearProofs(call: Call, workspace: Workspace, before: Instant, dry: boolean): Promise<Cleared> {
  const first = await judge(toRequest(workspace, call, []));
  const { set, memory } = first;
  const isGoverned = memory.setFile !== 'absent' || memory.remembered.checkout !== null || memory.findings.length > 0;
  if (!isGoverned) return NOTHING;
  requireProven(first);
  if (dry) return findAndRemove(call, workspace, before, true);
  return withLock(join(workspace.root.path, set.dir), 'write', () => findAndRemove(call, workspace, before, false));
}

async function findAndRemove(call: Call, workspace: Workspace, before: Instant, dry: boolean): Promise<Cleared> {
  const all = await judge(toRequest(workspace, call, null));
  requireProven(all);
  const { root } = workspace;
  const { dir, workspace: id } = all.set;
  const authorship = readStatements(root, `${dir}/authorship`, 'authorship', id ?? '');
  const approvals = readStatements(root, `${dir}/approvals`, 'approval', id ?? '');
  const spawned = [...all.proofs.spawns.byActor.values()].flat();
  const onDisk = (path: string): boolean => lstatSync(join(root.path, path), { throwIfNoEntry: false }) !== undefined;
  const named = [...new Set(authorship.statements.flatMap((one) => one.subjects.map((subject) => subject.name)))];
  const here = named.filter(onDisk);
  // Texts at other places than init paths are judged by name.
  const asked = here.length === 0 ? all : await judge(toRequest(workspace, call, here));
  requireProven(asked);
  const artifacts = [...all.artifacts, ...asked.artifacts];
  const contents = new Map<string, Set<string>>();
  for (const { evidence } of artifacts) {
    const { parsed, claimed } = evidence;
    const known = contents.get(parsed.candidate.path) ?? new Set<string>();
    for (const digest of [
      parsed.sha256,
      claimed?.contentSha256,
      ...parsed.readings.map((one) => one.claimed?.contentSha256),
    ])
      if (typeof digest === 'string') known.add(digest);
    contents.set(parsed.candidate.path, known);
  }
  const elsewhere = await tracked(workspace);
  const held = new Set(listQuarantine(root).entries.map((one) => one.path));
  const present: Present = {
    has: (path) => onDisk(path) || elsewhere.has(path) || held.has(path),
    contentsOf: (path) => contents.get(path) ?? new Set(),
  };
  const spent = spentAuthorship(authorship.statements, approvals.statements, present, before);
  const gone = new Set<Statement>(spent);
  const used = new Set(
    [
      ...authorship.statements.filter((one) => !gone.has(one)),
      ...approvals.statements,
      ...all.set.revocations,
      ...artifacts.flatMap(({ evidence }) => evidence.parsed.post ?? []),
    ].flatMap((one) => one.signers.map((signer) => signer.fingerprint)),
  );
  const spawns = spentSpawns(spawned, used, before).map((one) => one.statement);
  const removed = (list: readonly Statement[]): readonly Statement[] =>
    dry ? list : list.filter((one) => removeStatement(root, one));
  // Texts' proofs first: cut off in between, a record without a use is left, never a proof without its record.
  const done = removed(spent);
  return { authorship: done, spawns: removed(spawns) };
}

/** What could not be looked at may need a proof that seems to be of no use. */
function requireProven({ set, findings, artifacts }: Judgement): void {
  const blind = findings.find((one) => entryOf(one).unchecked === true);
  if (blind) throw new CannotError(`nothing was cleared up: ${blind.message}`);
  if (!set.intact) {
    const [why] = findings;
    throw new RefusedError(
      why?.code ?? 'policy-unsigned',
      `nothing was cleared up: ${why?.message ?? 'nobody is proven'}`,
    );
  }
  const unread = artifacts.find((one) => one.unchecked);
  if (unread)
    throw new CannotError(
      `nothing was cleared up: ${escapePath(unread.evidence.parsed.candidate.path)} could not be checked, and may need its proofs`,
    );
}

/** Paths of the git index below the workspace: a sparse checkout has files that are not on disk. */
async function tracked({ root, repository }: Workspace): Promise<ReadonlySet<string>> {
  if (repository === null) return new Set();
  const prefix = prefixIn(repository, root);
  const entries = await listIndex(repository);
  return new Set(entries.flatMap(({ path }) => (path.startsWith(prefix) ? [path.slice(prefix.length)] : [])));
}

async function clearLedger(call: Call, { state }: Workspace, before: Instant, dry: boolean): Promise<Archived> {
  if (state.kind === 'none') return { segments: [], rows: 0 };
  const given = text(call, 'archive');
  const folder = given === null ? archiveOf(state) : resolve(given);
  if (folder === null) throw new UsageError('state lies in a database: --archive DIR names the folder for old rows');
  const store = await openStore(state, dry ? 'read' : 'write');
  if (store === null) return { segments: [], rows: 0 };
  if (!isOpen(store)) throw new CannotError(`state cannot be used: ${store.unavailable}`);
  try {
    const done = await archiveLedger(store, folder, before, dry);
    if ('fault' in done)
      throw new RefusedError(
        'state-unavailable',
        `the ledger does not stand at row ${done.seq}: ${done.fault}; a broken chain is not archived`,
      );
    return done;
  } finally {
    await store.close();
  }
}

function ago(call: Call, name: string, fallback: string, now: Instant): Instant {
  const given = text(call, name) ?? fallback;
  const ms = durationMs(given);
  if (ms === null || ms < 0) throw new UsageError(`--${name} takes a duration like 90s, 15m, 8h, 7d, not ${given}`);
  return shift(now, -ms);
}
