import type { LaunchProfile } from '../discover/launch-profile.ts';

/** The environment of a child: nothing of writ's own, nothing that makes the host read more than its profile says, then what is added, in order. */
export function childEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  launch: LaunchProfile | null,
  added: readonly Readonly<Record<string, string>>[],
): Readonly<Record<string, string>> {
  const kept = Object.entries(environment).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !/^WRIT_/i.test(entry[0]) && launch?.drops.includes(entry[0]) !== true,
  );
  return Object.assign(Object.fromEntries(kept), ...added) as Readonly<Record<string, string>>;
}
