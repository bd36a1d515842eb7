import type { Judgement } from '../gate.ts';
import type { Instant } from '../model/instant.ts';
import type { PolicySet } from '../model/policy.ts';
import type { Identity } from '../model/principal.ts';
import type { Signer } from '../model/statement.ts';
import { hasDeparted, type SpawnIndex, trace } from '../policy/identity.ts';
import { foremost } from '../policy/standing-spawns.ts';
import { DEFAULT_RULES } from '../scan/default-rules.ts';
import type { Rule } from '../scan/rule.ts';
import { compileUserRules } from '../scan/user-rules.ts';

/** Who is who, and by which rules: read from a workspace once, and again when it changed. */
export interface Authority {
  readonly set: PolicySet;
  readonly spawns: SpawnIndex;
  /** Those that ship and the workspace’s own. */
  readonly rules: readonly Rule[];
}

/** Who is who, by what was judged. */
export async function authorityOf({ set, proofs }: Pick<Judgement, 'set' | 'proofs'>): Promise<Authority> {
  const own = await compileUserRules(set.ruleFiles, DEFAULT_RULES);
  return { set, spawns: proofs.spawns, rules: [...DEFAULT_RULES, ...own.rules] };
}

/** @returns who signed under a name, or why nobody proven did, in plain words. */
export function provenAs(
  name: string,
  signers: readonly Signer[],
  { set, spawns }: Authority,
  at: Instant,
): Identity | { readonly why: string } {
  if (!set.intact) return { why: 'the policy set is not pinned and intact, so nobody is proven' };
  let why = `no key that signed it belongs to ${name}`;
  for (const { fingerprint } of signers) {
    const traced = trace(set, spawns, fingerprint, 'writ', at);
    if (traced === null || traced.identity.principal !== name) continue;
    if (traced.faults[0] !== undefined) why = traced.faults[0].message.replace(/\.$/, '');
    else if (traced.window !== 'open' || hasDeparted(traced)) why = `the key of ${name} is not valid now`;
    else return traced.identity;
  }
  return { why };
}

/** Whether somebody may stop what an agent is doing: its own parent by the spawn record that stands, or the sovereign (handoffs.md, interrupt). */
export function mayInterrupt(by: Identity, child: string, { set, spawns }: Authority, now: Instant): boolean {
  if (by.role === 'sovereign') return true;
  const link = foremost(set, spawns.byActor.get(child) ?? [], spawns, now);
  if (link === null || link.statement.predicate.parent !== by.principal) return false;
  const traced = trace(set, spawns, link.fingerprint, 'writ', now);
  return traced !== null && traced.faults.length === 0 && traced.identity.principal === child;
}
