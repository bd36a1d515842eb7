import { childEnvironment } from '../launch/environment.ts';

/** What would let a child sign as a person, open the state database, or work on another repository than its own. */
const DROPPED =
  /^(?:SSH_AUTH_SOCK|SSH_AGENT_PID|SSH_ASKPASS|GIT_ASKPASS|PGPASSWORD|PGPASSFILE|PGSERVICE|PGSERVICEFILE|OLDPWD|GIT_(?:DIR|WORK_TREE|IMPLICIT_WORK_TREE|COMMON_DIR|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|QUARANTINE_PATH|NAMESPACE|PREFIX|GRAFT_FILE|SHALLOW_FILE|REPLACE_REF_BASE|CONFIG|CONFIG_PARAMETERS|CONFIG_COUNT|CONFIG_KEY_\d+|CONFIG_VALUE_\d+))$/;

/** @returns the environment of an agent or of its validation. @param given what a host profile made of ours, or null. @param kept names to keep all the same. */
export function runEnvironment(
  given: Readonly<Record<string, string>> | null,
  cwd: string,
  kept: readonly string[],
): Readonly<Record<string, string>> {
  const all = given ?? childEnvironment(process.env, null, []);
  const entries = Object.entries(all).filter(([name]) => kept.includes(name) || !DROPPED.test(name));
  return { ...Object.fromEntries(entries), PWD: cwd };
}
