import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { matchesAny } from '../discover/globs.ts';
import { judge } from '../gate.ts';
import { classOfKind, mayAuthor } from '../model/artifact-class.ts';
import { parseStrictJson } from '../sign/strict-json.ts';
import { appendLine } from '../write/append-line.ts';
import { sealStatement } from '../write/statement-file.ts';
import { isReserved } from '../write/write-artifact.ts';
import { readStdin } from './ask.ts';
import { type Call, CannotError, EXIT, type Exit, RefusedError, text, UsageError } from './command.ts';
import { tell } from './output.ts';
import { openSigner } from './signing.ts';
import { openWorkspace, toPath, toRequest } from './workspace.ts';
import { until } from './write.ts';

const MAX_TEXT = 16_384;

/** `writ post`: one signed line on a board. A kind the writer's role may not author is dropped, never relabelled (WAJIB 8). */
export async function post(call: Call): Promise<Exit> {
  const [target = ''] = call.positionals;
  const kind = text(call, 'kind') ?? '';
  if (!/^[a-z][a-z0-9_-]{0,63}$/.test(kind))
    throw new UsageError('--kind takes a word like observation, question, proposal, answer or guidance');
  const workspace = openWorkspace(call);
  const board = toPath(workspace, target);
  if (!board.endsWith('.jsonl')) throw new UsageError('a board is a .jsonl file');
  const judgement = await judge(toRequest(workspace, call, []));
  const signer = await openSigner(call, judgement);
  if (isReserved(board, judgement.set.dir))
    throw new RefusedError('spawn-path', `${board} belongs to the policy set, to quarantine or to git`);
  const { principal, role, scopes } = signer.identity;
  if (!mayAuthor(role, classOfKind(kind)))
    throw new RefusedError(
      'role-forbids-class',
      `${principal} is ${role}, which may not post ${kind}; nothing was posted`,
    );
  if (!scopes.every((scope) => matchesAny(board, scope)))
    throw new RefusedError('spawn-path', `${principal} may not write to ${board}`);
  const words = (await readStdin(MAX_TEXT)).toString('utf8').trim();
  if (words === '') throw new UsageError('the text comes on stdin');
  const predicate = {
    type: 'post' as const,
    board,
    kind,
    author: principal,
    text: words,
    data: readData(call),
    nonce: randomBytes(16).toString('hex'),
    expiresAt: until(call, 'expires', workspace.now),
  };
  const sealed = await sealStatement(
    { predicate, workspace: judgement.set.workspace ?? '', issuedAt: workspace.now, subjects: [] },
    judgement.set.dir,
    [signer.key],
  );
  const fault = await appendLine(
    workspace.root,
    board,
    JSON.stringify(JSON.parse(sealed.text)),
    join(workspace.root.path, judgement.set.dir),
  );
  if (fault !== null) throw new CannotError(fault);
  await tell(`posted ${kind} to ${board} as ${principal} (${role})`);
  return EXIT.ok;
}

function readData(call: Call): Readonly<Record<string, unknown>> | null {
  const given = text(call, 'json');
  if (given === null) return null;
  const read = parseStrictJson(given, { maxDepth: 8 });
  if ('fault' in read) throw new UsageError(`--json is no strict JSON: ${read.fault} at column ${read.column}`);
  if (typeof read.value !== 'object' || read.value === null || Array.isArray(read.value))
    throw new UsageError('--json takes an object');
  return read.value as Readonly<Record<string, unknown>>;
}
