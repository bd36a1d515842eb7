import { readOnce } from '../files/read-once.ts';
import { type Judgement, judge } from '../gate.ts';
import { CODES, type CodeName, isCodeName } from '../model/codes.ts';
import { escapePath } from '../model/escaped.ts';
import { type Instant, isoOf } from '../model/instant.ts';
import { PRINCIPAL_NAME } from '../model/role.ts';
import { wasRead } from '../model/source.ts';
import { MAX_EXCEPTION_DAYS } from '../policy/exceptions.ts';
import { EXCEPTIONS_FILE } from '../policy/policy-set.ts';
import type { SigningKey } from '../sign/private-key.ts';
import { readSigned, signSet } from '../write/policy-set.ts';
import { suggestion } from './arguments.ts';
import { type Call, EXIT, type Exit, RefusedError, text, UsageError } from './command.ts';
import { tell } from './output.ts';
import { openKey } from './signing.ts';
import { repin, requireName, standingDigests } from './trust-change.ts';
import { openWorkspace, toPath, toRequest, type Workspace } from './workspace.ts';
import { until } from './write.ts';

/** `writ waive`: one exception for one code at one path, with an owner, a reason and an end; signed with the set. */
export async function waive(call: Call): Promise<Exit> {
  const [code = '', target = ''] = call.positionals;
  if (!isCodeName(code)) throw new UsageError(`${code} is no code${suggestion(code, Object.keys(CODES), '')}`);
  if (!CODES[code].exceptable)
    throw new RefusedError(
      code,
      `${code} cannot be excepted; what can be: ${Object.keys(CODES)
        .filter((one) => isCodeName(one) && CODES[one].exceptable)
        .join(', ')}`,
    );
  const owner = text(call, 'owner') ?? '';
  const reason = text(call, 'reason') ?? '';
  if (!PRINCIPAL_NAME.test(owner)) throw new UsageError('--owner NAME is needed');
  if (reason === '') throw new UsageError('--reason TEXT is needed');
  const workspace = openWorkspace(call);
  const end = until(call, 'until', workspace.now);
  if (end === null) throw new UsageError('--until 30d is needed');
  if (end - workspace.now > MAX_EXCEPTION_DAYS * 86_400_000)
    throw new UsageError(`an exception lasts at most ${MAX_EXCEPTION_DAYS} days`);
  const path = toPath(workspace, target);
  const judgement = await judge(toRequest(workspace, call, []));
  const key = await openKey(call);
  requireName(call, judgement, key);
  await except(workspace, judgement, key, { code, path, owner, reason, end });
  return EXIT.ok;
}

/** One exception, as it will stand in exceptions.yaml. */
export interface Waiver {
  readonly code: CodeName;
  /** Workspace-relative. */
  readonly path: string;
  readonly owner: string;
  readonly reason: string;
  readonly end: Instant;
}

/** Adds an exception and signs the set anew. Throws RefusedError where the key is no root, UsageError where the set cannot be signed. */
export async function except(
  workspace: Workspace,
  judgement: Judgement,
  key: SigningKey,
  { code, path, owner, reason, end }: Waiver,
): Promise<void> {
  const { dir } = judgement.set;
  const signed = readSigned(workspace.root, dir);
  if (judgement.set.root !== 'pinned' || !signed?.predicate.roots.includes(key.publicKey.fingerprint))
    throw new RefusedError('root-mismatch', 'an exception is part of the policy set: only a root may sign it');
  const file = `${dir}/${EXCEPTIONS_FILE}`;
  const read = readOnce(workspace.root, file, 262_144);
  const old = wasRead(read)
    ? Buffer.from(read.bytes)
        .toString('utf8')
        .replace(/^\[\]\s*$/m, '')
    : '# Exceptions: one code at one path, until a day. Dead ones are findings.\n';
  const entry = `- {code: ${code}, path: ${JSON.stringify(path)}, owner: ${owner}, reason: ${JSON.stringify(reason.slice(0, 500))}, until: "${isoOf(end)}"}\n`;
  const changes = new Map([[file, `${old.replace(/\n*$/, '\n')}${entry}`]]);
  const done = await signSet(
    {
      root: workspace.root,
      dir,
      now: workspace.now,
      changes,
      raiseFloor: false,
      roots: null,
      recovery: null,
      revocations: standingDigests(judgement),
    },
    [key],
  );
  if ('refused' in done) throw new UsageError(done.refused);
  await repin(workspace, dir, done);
  await tell(
    `excepted ${code} at ${escapePath(path)} until ${isoOf(end)}; policy version ${done.version}. Commit ${dir}/.`,
  );
}
