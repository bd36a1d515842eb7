import { finding } from '../model/codes.ts';
import { escapePath } from '../model/escaped.ts';
import type { Finding } from '../model/finding.ts';
import type { PolicySet } from '../model/policy.ts';
import type { Claimed, Parsed, Reading } from '../model/stages.ts';

/** Which manifest speaks for a text, and what settling on it found. */
export interface Settled {
  readonly claimed: Claimed | null;
  readonly strays: readonly Reading[];
  readonly findings: readonly Finding[];
}

/** How much proof stands behind a manifest; 0 is none. */
export type Weigh = (claimed: Claimed) => number;

/** Whether two readings hold one manifest, every field of it: as where a link to a folder shows the sidecar of the file it leads to once more. */
function isSame({ claimed }: Reading, { claimed: other }: Reading): boolean {
  return (
    claimed !== null &&
    other !== null &&
    claimed.carrier === other.carrier &&
    claimed.manifestDigest === other.manifestDigest &&
    claimed.contentSha256 === other.contentSha256 &&
    claimed.manifest.approvedBy === other.manifest.approvedBy &&
    claimed.manifest.binding === other.manifest.binding
  );
}

/**
 * Settles on one manifest. Two are ambiguous and refused, unless one has more proof behind it than every other: then a
 * sidecar somebody dropped beside it is refused alone, and the proven text keeps its rank (hard rule 10). The same manifest
 * in two sidecars is one manifest.
 */
export function settle(parsed: Parsed, weigh: Weigh, set: PolicySet): Settled {
  const { candidate } = parsed;
  if (parsed.readings.length === 0) return { claimed: null, strays: [], findings: isSilent(parsed) ? [] : MISSING };
  const notes = parsed.readings.flatMap((reading) => (reading.claimed || reading.fault ? [] : reading.notes));
  const real = parsed.readings.filter((reading) => reading.claimed !== null || reading.fault !== null);
  if (candidate.kind === 'document' && set.documents.get(candidate.path) === parsed.sha256 && parsed.sha256 !== null) {
    return { claimed: null, strays: real, findings: notes };
  }
  const [only] = real;
  if (!only) return { claimed: null, strays: [], findings: isSilent(parsed) ? notes : [...notes, ...MISSING] };
  if (real.length === 1 || real.every((reading) => isSame(reading, only)))
    return {
      claimed: only.claimed,
      strays: [],
      findings: [...notes, ...only.notes, ...(only.fault ? [only.fault] : [])],
    };
  const weights = real.map(({ claimed }) => (claimed === null ? 0 : weigh(claimed)));
  const most = Math.max(...weights);
  const proven = most === 0 ? [] : real.filter((_reading, index) => weights[index] === most);
  const [winner] = proven;
  const isOne = proven.every(
    (one) =>
      one.claimed?.manifestDigest === winner?.claimed?.manifestDigest &&
      one.claimed?.contentSha256 === winner?.claimed?.contentSha256,
  );
  if (winner && isOne) {
    return {
      claimed: winner.claimed,
      // What lies beside the file a link leads to is that file's own affair.
      strays: real.filter((reading) => reading !== winner && reading.sidecar?.path.startsWith(`${candidate.path}.`)),
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

const MISSING: readonly Finding[] = [finding('manifest-missing')];

/** Whether nobody expects a manifest of it. */
function isSilent({ text, line, post, handoff, candidate: { kind } }: Parsed): boolean {
  return (
    text === null ||
    line !== null ||
    post !== null ||
    handoff !== undefined ||
    kind === 'executable' ||
    kind === 'document'
  );
}
