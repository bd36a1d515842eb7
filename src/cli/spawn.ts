import { isValidGlob } from '../discover/globs.ts';
import { judge } from '../gate.ts';
import { isoOf } from '../model/instant.ts';
import { type Call, EXIT, type Exit, list, text, UsageError } from './command.ts';
import { tell } from './output.ts';
import { readPublicKey } from './root-key.ts';
import { openSigner } from './signing.ts';
import { childRole, declareChild } from './spawn-child.ts';
import { openWorkspace, toRequest } from './workspace.ts';

/** `writ spawn`: the parent's signed word for a child: key, role, paths, life. */
export async function spawn(call: Call): Promise<Exit> {
  const [actor = ''] = call.positionals;
  const role = childRole(call, actor);
  const file = text(call, 'pub');
  if (file === null) throw new UsageError('--pub FILE.pub names the child\u2019s public key');
  const paths = list(call, 'paths');
  const bad = paths.find((glob) => !isValidGlob(glob));
  if (bad !== undefined) throw new UsageError(`--paths takes globs relative to the workspace, not ${bad}`);
  const workspace = openWorkspace(call);
  const judgement = await judge(toRequest(workspace, call, []));
  const signer = await openSigner(call, judgement);
  const { expiresAt, sealed } = await declareChild(call, workspace, judgement, signer, {
    actor,
    role,
    paths,
    readKey: () => readPublicKey(file),
  });
  const reach = paths.length === 0 ? 'every path its parent reaches' : paths.join(', ');
  await tell(
    `${actor} is ${role}, spawned by ${signer.identity.principal} until ${isoOf(expiresAt)}, for ${reach}; record in ${sealed.file}`,
  );
  return EXIT.ok;
}
