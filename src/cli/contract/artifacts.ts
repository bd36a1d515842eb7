import { join } from 'node:path';
import type { JsonObject, State } from '../../contract/envelope.ts';
import { HANDOFF_LIFE, toArtifacts } from '../../contract/to-artifacts.ts';
import { type Judgement, judge } from '../../gate.ts';
import { headCommit } from '../../git/git.ts';
import { shift } from '../../model/instant.ts';
import { keepBytes } from '../../write/git-attributes.ts';
import type { KnownSigner } from '../../write/signer.ts';
import { writeArtifact } from '../../write/write-artifact.ts';
import { type Call, RefusedError, text, UsageError } from '../command.ts';
import { tell } from '../output.ts';
import { openSigner, signingFile } from '../signing.ts';
import { toRequest, type Workspace } from '../workspace.ts';

/** Who finalizes, proven by a key; and the policy set that proves it. */
export interface ProvenAgent {
  readonly signer: KnownSigner;
  readonly judgement: Judgement;
}

/**
 * The agent behind a finalize, by --as and --key or by what it was started with. Null where it gave no key: then the row names nobody. A key given on the
 * command line that proves nobody is refused; one that merely lies in the environment is told.
 */
export async function provenAgent(call: Call, workspace: Workspace): Promise<ProvenAgent | null> {
  if (signingFile(call) === null) return null;
  try {
    const judgement = await judge({ ...toRequest(workspace, call, []), onProgress: null });
    return { signer: await openSigner(call, judgement), judgement };
  } catch (error) {
    const asked = text(call, 'as') !== null || text(call, 'key') !== null;
    if (asked || !(error instanceof RefusedError || error instanceof UsageError)) throw error;
    await tell(
      `writ: the key in the environment proves nobody here, so this contract names no signer: ${error.message}`,
    );
    return null;
  }
}

/** Writes what a contract leaves for the gate: handoff and memories, signed by the agent. @returns what became of each; a refusal never undoes the row. */
export async function writeArtifacts(
  workspace: Workspace,
  { signer, judgement }: ProvenAgent,
  of: { readonly contractId: string; readonly agentId: string; readonly state: State; readonly envelope: JsonObject },
): Promise<readonly JsonObject[]> {
  const { set } = judgement;
  const told: JsonObject[] = [];
  const sourceCommit = workspace.repository === null ? null : await headCommit(workspace.repository);
  for (const artifact of toArtifacts(of.contractId, of.agentId, of.state, of.envelope)) {
    if (Buffer.byteLength(artifact.content) > set.policy.limits.fileBytes) {
      told.push({ path: artifact.path, refused: 'too-large' });
      continue;
    }
    const written = await writeArtifact({
      root: workspace.root,
      dir: set.dir,
      lockDir: join(workspace.root.path, set.dir),
      workspace: set.workspace ?? '',
      path: artifact.path,
      content: artifact.content,
      class: artifact.class,
      level: 'T1',
      signer,
      now: workspace.now,
      expiresAt: artifact.class === 'operational_handoff' ? shift(workspace.now, HANDOFF_LIFE) : null,
      supersedes: [],
      approvedBy: null,
      carrier: 'front-matter',
      id: null,
      sourceCommit,
      constitution: set.constitution,
    });
    if ('why' in written) {
      told.push({ path: artifact.path, refused: written.code, why: written.why });
      continue;
    }
    if (workspace.repository) keepBytes(workspace.root, [artifact.path]);
    told.push({
      path: artifact.path,
      class: artifact.class,
      artifact_id: written.artifactId,
      statement: written.statement,
    });
  }
  return told;
}
