import { ruleData } from '../generated/rule-data.ts';
import { RULE_HEADS } from '../generated/rules.ts';
import { literalsIn, patternsIn } from './packed-rule.ts';
import type { Rule } from './rule.ts';

/** The rules that ship with writ, in the order of their ids. Most meet no text in a run: what they find is read when one does. */
export const DEFAULT_RULES: readonly Rule[] = RULE_HEADS.map((head, at) => ({
  ...head,
  get literals() {
    return once(this, 'literals', literalsIn(ruleData(at)));
  },
  get patterns() {
    return once(this, 'patterns', patternsIn(ruleData(at)));
  },
}));

function once<K extends 'patterns' | 'literals'>(rule: Rule, key: K, value: Rule[K]): Rule[K] {
  Object.defineProperty(rule, key, { value, enumerable: true });
  return value;
}
