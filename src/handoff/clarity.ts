import { finding } from '../model/codes.ts';
import type { Finding } from '../model/finding.ts';
import type { HandoffArtifact } from '../model/handoff.ts';
import type { HandoffSettings } from '../model/policy.ts';
import { floorOf, floorsIn } from './floors.ts';

/** F4: what makes a handoff harder to take over, each with its place. Nothing here refuses it. */
export function checkClarity(artifact: HandoffArtifact): readonly Finding[] {
  return [
    ...repeatedEvidence(artifact),
    ...repeatedConstraints(artifact),
    ...stepFaults(artifact),
    ...againstFloors(artifact),
  ];
}

/** Confidence above what its rung carries (policy.yaml, handoffs.rungs). */
export function checkRungs({ evidence }: HandoffArtifact, rungs: HandoffSettings['rungs']): readonly Finding[] {
  return evidence.flatMap(({ rung, confidence }, index) =>
    confidence <= rungs[rung]
      ? []
      : [
          finding('handoff-overclaims', {
            message: `evidence[${index}].confidence is ${confidence}; ${rung} carries at most ${rungs[rung]}.`,
          }),
        ],
  );
}

function repeatedEvidence({ evidence }: HandoffArtifact): readonly Finding[] {
  const first = new Map<string, number>();
  return evidence.flatMap(({ source, rung }, index) => {
    const key = `${rung} ${source.trim()}`;
    const before = first.get(key);
    if (before === undefined) first.set(key, index);
    return before === undefined ? [] : [unclear(`evidence[${index}]`, `repeats evidence[${before}]`)];
  });
}

function repeatedConstraints({ constraints }: HandoffArtifact): readonly Finding[] {
  const seen = new Set<string>();
  return constraints.flatMap((one, index) => {
    const floor = floorOf(one) ?? one;
    const again = seen.has(floor);
    seen.add(floor);
    return again ? [unclear(`constraints[${index}]`, `names ${floor} once more`)] : [];
  });
}

function stepFaults({ reasoning_chain, next_actions }: HandoffArtifact): readonly Finding[] {
  let last = 0;
  const steps = reasoning_chain.flatMap(({ step, action, result, status }, index) => {
    const place = `reasoning_chain[${index}]`;
    const found: Finding[] = [];
    if (action.trim() === '') found.push(unclear(place, 'is an empty step'));
    else if (status !== 'pending' && result.trim() === '')
      found.push(unclear(place, `is ${status} and says no result`));
    if (step <= last) found.push(unclear(place, `is step ${step} after step ${last}: out of order`));
    last = Math.max(last, step);
    return found;
  });
  const actions = next_actions.flatMap((action, index) =>
    action.trim() === '' ? [unclear(`next_actions[${index}]`, 'is empty')] : [],
  );
  return [...steps, ...actions];
}

/** Words that go on as if nothing had failed, and words that deal with it or wait for it. */
const GOES_ON =
  /\b(?:proceed|continue|go ahead|deploy|merge|release|ship|publish|push|skip|ignore|bypass|override|waive|disregard|finali[sz]e|approve|sign off|close)\b/i;
const DEALS_WITH =
  /\b(?:fix|repair|resolve|re-?check|re-?run|re-?test|re-?verify|investigate|escalate|roll back|revert|ask|stop|hold|wait|block|until|unless|once|after|do not|don[\u2019']t|not to|never)\b/i;

function againstFloors({ floor_state, next_actions }: HandoffArtifact): readonly Finding[] {
  const failed = Object.keys(floor_state)
    .filter((name) => floor_state[name] === 'FAIL')
    .map((name) => floorOf(name) ?? name);
  if (failed.length === 0) return [];
  return next_actions.flatMap((action, index) => {
    const named = [...floorsIn(action)].filter((floor) => failed.includes(floor));
    const goesOn = GOES_ON.test(action) || (named.length > 0 && /\bPASS(?:ED|ES)?\b/i.test(action));
    if (!goesOn || DEALS_WITH.test(action)) return [];
    return [
      unclear(`next_actions[${index}]`, `goes on although ${(named.length > 0 ? named : failed).join(', ')} failed`),
    ];
  });
}

function unclear(place: string, why: string): Finding {
  return finding('handoff-unclear', { message: `${place} ${why}.` });
}
