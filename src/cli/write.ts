import { isUtf8 } from 'node:buffer';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { judge } from '../gate.ts';
import { headCommit } from '../git/git.ts';
import { CLASSES, LEVELS } from '../model/artifact-class.ts';
import { type Instant, instantFromDuration } from '../model/instant.ts';
import { PRINCIPAL_NAME } from '../model/role.ts';
import { ARTIFACT_ID } from '../parse/manifest.ts';
import { keepBytes } from '../write/git-attributes.ts';
import { writeArtifact } from '../write/write-artifact.ts';
import { readStdin } from './ask.ts';
import { type Call, EXIT, type Exit, list, oneOf, RefusedError, text, UsageError } from './command.ts';
import { print, tell } from './output.ts';
import { openSigner } from './signing.ts';
import { openWorkspace, toPath, toRequest, type Workspace } from './workspace.ts';

/** `writ write`: the sanctioned writer. */
export async function write(call: Call): Promise<Exit> {
  const [target = ''] = call.positionals;
  const cls = oneOf(call, 'class', CLASSES);
  if (cls === null) throw new UsageError(`--class is needed: one of ${CLASSES.join(', ')}`);
  const level = oneOf(call, 'level', LEVELS) ?? 'T1';
  const carrier = oneOf(call, 'carrier', ['front-matter', 'comment', 'sidecar']);
  const workspace = openWorkspace(call);
  const path = toPath(workspace, target);
  const expiresAt = until(call, 'expires', workspace.now);
  const ids = [...list(call, 'supersedes'), ...(text(call, 'id') === null ? [] : [text(call, 'id') ?? ''])];
  if (!ids.every((id) => ARTIFACT_ID.test(id))) throw new UsageError('--id and --supersedes take artifact ids');
  const approvedBy = text(call, 'approved-by');
  if (approvedBy !== null && !PRINCIPAL_NAME.test(approvedBy)) throw new UsageError('--approved-by takes a name');
  const judgement = await judge(toRequest(workspace, call, []));
  const signer = await openSigner(call, judgement);
  const limit = judgement.set.policy.limits.fileBytes;
  const content = await contentFrom(call, limit);
  const written = await writeArtifact({
    root: workspace.root,
    dir: judgement.set.dir,
    lockDir: join(workspace.root.path, judgement.set.dir),
    workspace: judgement.set.workspace ?? '',
    path,
    content,
    class: cls,
    level,
    signer,
    now: workspace.now,
    expiresAt,
    supersedes: list(call, 'supersedes'),
    approvedBy,
    carrier,
    id: text(call, 'id'),
    sourceCommit: await sourceCommit(call, workspace),
    constitution: judgement.set.constitution,
  });
  if ('why' in written) throw new RefusedError(written.code, written.why);
  if (workspace.repository) keepBytes(workspace.root, [path]);
  await print(`${written.artifactId}\n`);
  await tell(
    `wrote ${path} as ${cls} ${level} by ${signer.identity.principal} (${written.carrier}); proof in ${written.statement}`,
  );
  return EXIT.ok;
}

/** An instant from a duration or ISO time; null where the option was not given. */
export function until(call: Call, name: string, now: Instant): Instant | null {
  const given = text(call, name);
  if (given === null) return null;
  const found = instantFromDuration(given, now);
  if (found === null)
    throw new UsageError(
      `--${name} takes a duration like 90s, 15m, 8h, 7d or an ISO 8601 time ending in Z, not ${given}`,
    );
  if (found <= now) throw new UsageError(`--${name} ${given} has passed already`);
  return found;
}

async function contentFrom(call: Call, limit: number): Promise<string> {
  const from = text(call, 'from');
  let bytes: Buffer;
  if (from === null) {
    if (process.stdin.isTTY === true) throw new UsageError('the text comes on stdin, or from a file with --from FILE');
    bytes = await readStdin(limit);
  } else {
    try {
      if (statSync(from).size > limit) throw new UsageError(`${from} is larger than ${limit} bytes`);
      bytes = readFileSync(from);
    } catch (error) {
      if (error instanceof UsageError) throw error;
      throw new UsageError(`${from} cannot be read`);
    }
  }
  if (!isUtf8(bytes) || bytes.includes(0)) throw new UsageError('the text is not UTF-8');
  return bytes.toString('utf8');
}

async function sourceCommit(call: Call, { repository }: Workspace): Promise<string | null> {
  const given = text(call, 'source-commit');
  if (given !== null) {
    if (!/^[0-9a-f]{40}([0-9a-f]{24})?$/.test(given)) throw new UsageError('--source-commit takes a full commit id');
    return given;
  }
  return repository === null ? null : headCommit(repository);
}
