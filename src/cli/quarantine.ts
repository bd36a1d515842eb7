import { type Judgement, judge } from '../gate.ts';
import { escapePath } from '../model/escaped.ts';
import { instantFromMs, isoOf } from '../model/instant.ts';
import type { Judged } from '../model/stages.ts';
import { findRecord, type Held, listQuarantine, openHeld } from '../quarantine/list.ts';
import { purge } from '../quarantine/purge.ts';
import { restore } from '../quarantine/restore.ts';
import { fill, reasonOf } from '../report/verdicts-text.ts';
import { type Call, EXIT, type Exit, flag, oneOf, RefusedError, text, UsageError } from './command.ts';
import { print, tell } from './output.ts';
import { openWorkspace, toPath, toRequest, type Workspace } from './workspace.ts';

/** `writ quarantine list`: what is held, and why. */
export async function list(call: Call): Promise<Exit> {
  const format = oneOf(call, 'format', ['text', 'json']) ?? 'text';
  const { entries, faults } = listQuarantine(openWorkspace(call).root);
  for (const one of faults) await tell(`writ: ${escapePath(one.file)}: ${one.why}`);
  const shown = entries.map(({ id, path, sha256, bytes, at, codes }) => ({
    id,
    path: escapePath(path),
    sha256,
    bytes,
    at,
    codes,
  }));
  if (format === 'json') await print(`${JSON.stringify(shown, null, 1)}\n`);
  else if (shown.length === 0) await print('nothing is held\n');
  else
    await print(
      shown
        .map((one) => `${one.id}  ${time(one.at)}  ${one.path}  ${one.bytes} bytes  ${one.codes.join(', ')}\n`)
        .join(''),
    );
  return faults.length > 0 ? EXIT.unchecked : EXIT.ok;
}

/** `writ quarantine show`: one record; never the text itself, which may be an attack on whoever reads it. */
export async function show(call: Call): Promise<Exit> {
  const format = oneOf(call, 'format', ['text', 'json']) ?? 'text';
  const [id = ''] = call.positionals;
  const found = findRecord(openWorkspace(call).root, id);
  if ('refused' in found) throw new UsageError(`${escapePath(id)}: ${found.refused}`);
  const { record } = found;
  if (format === 'json') {
    await print(`${JSON.stringify({ ...record, path: escapePath(record.path) }, null, 1)}\n`);
    return EXIT.ok;
  }
  const lines = [
    `${record.id}: ${escapePath(record.path)}`,
    `  taken    ${time(record.at)}`,
    `  bytes    ${record.bytes}, sha256 ${record.sha256}, mode ${record.mode.toString(8)}`,
    `  class    ${record.class ?? 'none'}`,
    `  writer   ${record.writer ? `${record.writer.principal} (${record.writer.role})` : 'unproven'}`,
    `  sidecars ${record.sidecars.map((one) => one.suffix).join(', ') || 'none'}`,
    '  findings',
    ...record.findings.map(
      (one) => `    ${one.code}${one.line === null ? '' : ` line ${one.line}`}: writ explain ${one.code}`,
    ),
    `  the exact bytes: gzip -dc quarantine/${record.sha256}/artifact.gz`,
  ];
  await print(`${lines.join('\n')}\n`);
  return EXIT.ok;
}

/** `writ quarantine release`: every check again on the bytes that would be written; what still breaks the rules stays held. */
export async function release(call: Call): Promise<Exit> {
  const [id = ''] = call.positionals;
  const workspace = openWorkspace(call);
  const held = openHeld(workspace.root, id);
  if ('refused' in held) throw new UsageError(`${escapePath(id)}: ${held.refused}`);
  const to = text(call, 'to');
  await releaseHeld(call, workspace, held, to === null ? null : toPath(workspace, to));
  return EXIT.ok;
}

/** Judges what is held as if it lay at its place, and puts back those very bytes. Throws RefusedError where it would be quarantined again. */
export async function releaseHeld(call: Call, workspace: Workspace, held: Held, to: string | null): Promise<void> {
  const { target, judged } = await judgeHeld(call, workspace, held, to);
  if (!judged || judged.rank === 'quarantined') {
    const reason = judged ? reasonOf(judged) : null;
    throw new RefusedError(
      reason?.code ?? 'path-unreadable',
      `${escapePath(target)} would be quarantined again: ${reason?.message ?? 'it cannot be judged'} ${reason && judged ? fill(reason.cure, judged) : ''}`,
    );
  }
  const restored = restore(workspace.root, held, to);
  if ('refused' in restored) throw new RefusedError('quarantine-failed', `${escapePath(target)}: ${restored.refused}`);
  await tell(`released ${escapePath(restored.path)}: it now ranks ${judged.rank}`);
}

/** What is held, judged as if it lay where it came from, or at another place. */
export async function judgeHeld(
  call: Call,
  workspace: Workspace,
  held: Held,
  to: string | null,
): Promise<{ readonly target: string; readonly judgement: Judgement; readonly judged: Judged | undefined }> {
  const target = to ?? held.record.path;
  const overlay = new Map([[target, { bytes: held.bytes, mode: held.record.mode, links: 1, aliasOf: null }]]);
  for (const one of held.sidecars)
    overlay.set(`${target}${one.suffix}`, { bytes: one.bytes, mode: one.mode, links: 1, aliasOf: null });
  const judgement = await judge({ ...toRequest(workspace, call, [target]), overlay });
  return {
    target,
    judgement,
    judged: judgement.artifacts.find(({ evidence }) => evidence.parsed.candidate.path === target),
  };
}

/** `writ quarantine purge`: deletes one held artifact for good. */
export async function remove(call: Call): Promise<Exit> {
  const [id = ''] = call.positionals;
  if (!flag(call, 'yes')) throw new UsageError('purge deletes for good: say so with --yes');
  const done = purge(openWorkspace(call).root, id);
  if ('refused' in done) throw new UsageError(`${escapePath(id)}: ${done.refused}`);
  await tell(`purged ${done.id} (${escapePath(done.path)})`);
  return EXIT.ok;
}

function time(at: number): string {
  const instant = instantFromMs(at);
  return instant === null ? String(at) : isoOf(instant);
}
