import { finding } from '../model/codes.ts';
import { escapePath } from '../model/escaped.ts';
import type { Finding } from '../model/finding.ts';
import type { Instant } from '../model/instant.ts';
import type { PolicySet } from '../model/policy.ts';
import type { Judged, LiveApproval } from '../model/stages.ts';

/** A binding approval, and whether its path is the artifact itself or only a companion it imports. */
export interface Expected {
  readonly approval: LiveApproval;
  readonly companion: boolean;
}

/** A live approval whose artifact is gone: what must be there is not (decisions.md, set). */
export function missingBindings(artifacts: readonly Judged[], expected: readonly Expected[]): readonly Finding[] {
  const there = new Set(
    artifacts.flatMap(({ evidence }) =>
      evidence.claimed ? [`${evidence.parsed.candidate.path} ${evidence.claimed.manifest.artifactId}`] : [],
    ),
  );
  const missing = new Map<string, Finding>();
  for (const { approval, companion } of expected) {
    const { path, artifactId } = approval;
    if (companion || there.has(`${path} ${artifactId}`)) continue;
    missing.set(
      path,
      finding('binding-missing', {
        message: `A live approval names ${escapePath(path)}, and no artifact with its id is there.`,
        file: path,
        cure: `Restore the file, or revoke its approval: writ revoke --id ${artifactId} --reason TEXT`,
      }),
    );
  }
  return [...missing.values()];
}

/** Exceptions that are dead: run out, said twice, or matching nothing (formats.md, exceptions). */
export function unusedExceptions(artifacts: readonly Judged[], set: PolicySet, now: Instant): readonly Finding[] {
  const file = `${set.dir}/exceptions.yaml`;
  return set.exceptions.flatMap((one, index) => {
    const at = { file, line: one.line };
    const what = `${one.code} for ${escapePath(one.path)}`;
    if (
      set.exceptions.findIndex(
        (other) => other.code === one.code && other.path === one.path && other.artifactId === one.artifactId,
      ) !== index
    )
      return [finding('exception-duplicate', { ...at, message: `Two exceptions say ${what}.` })];
    if (one.until <= now)
      return [finding('exception-expired', { ...at, message: `The exception ${what} has run out.` })];
    const used = artifacts.some(
      ({ evidence, findings }) =>
        evidence.parsed.candidate.path === one.path &&
        findings.some((found) => found.code === one.code && found.relief === 'excepted'),
    );
    return used ? [] : [finding('exception-unused', { ...at, message: `The exception ${what} matches nothing.` })];
  });
}
