import type { Judgement } from '../gate.ts';
import { entryOf } from '../model/codes.ts';
import type { Finding } from '../model/finding.ts';
import type { Judged } from '../model/stages.ts';
import type { Reach } from './proofs.ts';

/** What a change touches: paths, and whatever its proofs reach. */
export interface Change {
  readonly paths: ReadonlySet<string>;
  readonly reach: Reach;
  /** Every name a path is read through in the tree after the change: itself, the links on its way, the file at their end. */
  readonly behind: (path: string) => readonly string[];
}

/** @returns the artifacts whose verdict the change may have altered: their bytes, sidecar, link, imports or proofs are in it. */
export function concernedArtifacts({ artifacts }: Judgement, change: Change): readonly Judged[] {
  if (change.reach.all) return artifacts;
  const own = new Set(artifacts.filter((one) => isTouched(one, change)));
  const paths = new Set([...own].map((one) => one.evidence.parsed.candidate.path));
  const importsTouched = ({ evidence }: Judged): boolean =>
    evidence.imports.some(({ path }) => paths.has(path) || isPart(path, change));
  return artifacts.filter((one) => own.has(one) || importsTouched(one));
}

function isTouched({ evidence }: Judged, change: Change): boolean {
  const { candidate, aliasOf } = evidence.parsed;
  const id = evidence.claimed?.manifest.artifactId;
  return (
    isPart(candidate.path, change) ||
    (aliasOf !== null && isPart(aliasOf, change)) ||
    (id !== undefined && change.reach.ids.has(id))
  );
}

/** Whether a path, its sidecar, or a link or submodule that either is read through changed, or a changed proof names it. */
function isPart(path: string, { paths, reach, behind }: Change): boolean {
  return [path, `${path}.manifest.yaml`, `${path}.manifest.json`].flatMap(behind).some((name) => {
    if (reach.paths.has(name)) return true;
    for (let end = name.length; end > 0; end = name.lastIndexOf('/', end - 1))
      if (paths.has(name.slice(0, end))) return true;
    return false;
  });
}

/**
 * @returns the findings on the workspace that the change is to answer for: what is about a file it touches, what could not be checked, and what holds everywhere
 * where it touches anything judged at all. A set that ran out does not stop a commit that has nothing to do with it.
 */
export function concernedFindings(
  findings: readonly Finding[],
  change: Change,
  touchesAny: boolean,
): readonly Finding[] {
  return findings.filter((one) => {
    const entry = entryOf(one);
    if (change.reach.all || one.code === 'approval-removed') return true;
    if (entry.everywhere === true) return touchesAny;
    if (entry.unchecked === true) return true;
    return one.file !== undefined && isPart(one.file, change);
  });
}
