import type { Limits, Policy, PolicySet } from '../model/policy.ts';

export const DEFAULT_LIMITS: Limits = { fileBytes: 1_048_576, files: 20_000, scanWork: 64 };

/** What judges where no pinned, intact set does: nobody is anybody, nothing is excepted or audited. */
export const DEFAULT_POLICY: Policy = {
  workspace: null,
  constitution: { documents: [], accepts: [] },
  principals: new Map(),
  approvals: { threshold: { policy: 1, constitution: 1 }, maxDays: 365, presence: 'none' },
  commits: { authorship: 'specialist', perPrincipal: new Map(), approval: [] },
  spawns: { maxHours: 24 },
  unmanifested: 'reference',
  hosts: null,
  initPaths: [],
  classes: new Map(),
  audit: new Set(),
  limits: DEFAULT_LIMITS,
  handoffs: { ackSeconds: 10, escalateUrl: null, rungs: { OBS: 0.9, DER: 0.85, INT: 0.75, SPEC: 0.6 } },
};

/** The folder a policy set lies in unless `init --dir` chose another. */
export const POLICY_DIR = 'policies';

/** A set in which nobody is proven, with the findings that say why. */
export function unprovenSet(
  of: Pick<PolicySet, 'root' | 'workspace' | 'dir' | 'findings' | 'version' | 'revocations'>,
): PolicySet {
  return {
    ...of,
    intact: false,
    floor: null,
    constitution: null,
    policy: DEFAULT_POLICY,
    keys: [],
    roots: [],
    exceptions: [],
    documents: new Map(),
    ruleFiles: [],
    endorsed: new Set(),
    digest: null,
  };
}
