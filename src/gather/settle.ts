import { finding } from '../model/codes.ts';
import { escapePath } from '../model/escaped.ts';
import type { Finding } from '../model/finding.ts';
import type { PolicySet } from '../model/policy.ts';
import type { Claimed, Parsed, Reading } from '../model/stages.ts';
import { matchesArtifact, type Standing } from '../policy/approvals.ts';

/** Which manifest speaks for a text, and what settling on it found. */
export interface Settled {
  readonly claimed: Claimed | null;
  readonly strays: readonly Reading[];
  readonly findings: readonly Finding[];
}

/**
 * Settles on one manifest. Two are ambiguous and refused, unless a standing approval matches exactly one of them: then a
 * sidecar somebody dropped beside it is refused alone, and the approved text keeps its rank (hard rule 10).
 */
export function settle(parsed: Parsed, approvals: readonly Standing[], set: PolicySet): Settled {
  const { candidate, line, post } = parsed;
  const notes = parsed.readings.flatMap((reading) => (reading.claimed || reading.fault ? [] : reading.notes));
  const real = parsed.readings.filter((reading) => reading.claimed !== null || reading.fault !== null);
  if (candidate.kind === 'document' && set.documents.get(candidate.path) === parsed.sha256 && parsed.sha256 !== null) {
    return { claimed: null, strays: real, findings: notes };
  }
  const [only] = real;
  if (!only) {
    const silent =
      parsed.text === null ||
      line !== null ||
      post !== null ||
      candidate.kind === 'executable' ||
      candidate.kind === 'document';
    return { claimed: null, strays: [], findings: silent ? notes : [...notes, finding('manifest-missing')] };
  }
  if (real.length === 1)
    return {
      claimed: only.claimed,
      strays: [],
      findings: [...notes, ...only.notes, ...(only.fault ? [only.fault] : [])],
    };
  const approved = real.filter(
    ({ claimed }) =>
      claimed !== null &&
      approvals.some((one) => one.problem === null && matchesArtifact(one.approval, candidate.path, claimed)),
  );
  const [winner] = approved;
  if (winner && approved.length === 1) {
    return {
      claimed: winner.claimed,
      strays: real.filter((reading) => reading !== winner && reading.sidecar !== null),
      findings: [...notes, ...winner.notes],
    };
  }
  const places = real.map((reading) => (reading.sidecar ? escapePath(reading.sidecar.path) : 'the file itself'));
  return {
    claimed: null,
    strays: [],
    findings: [
      ...notes,
      finding('manifest-ambiguous', { message: `Two manifests claim to speak for it: ${places.join(' and ')}.` }),
    ],
  };
}
