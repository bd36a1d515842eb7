import { finding } from '../model/codes.ts';
import { escapePath, excerpt } from '../model/escaped.ts';
import type { Finding } from '../model/finding.ts';
import { parseStrictYaml } from '../parse/strict-yaml.ts';
import type { Rule } from './rule.ts';
import { toRule } from './to-rule.ts';

const LIMITS = { bytes: 65_536, depth: 8 };

/**
 * Compiles the rule files of a policy set. A broken rule is an error that names its line, never a skipped rule: the set
 * then judges nobody (`policy-invalid`).
 */
export async function compileUserRules(
  files: readonly { readonly path: string; readonly text: string }[],
  known: readonly Rule[],
): Promise<{ readonly rules: readonly Rule[]; readonly findings: readonly Finding[] }> {
  const rules: Rule[] = [];
  const findings: Finding[] = [];
  const fail = (path: string, line: number, why: string): void => {
    findings.push(finding('policy-invalid', { message: `${escapePath(path)}: ${why}.`, line, file: path }));
  };
  for (const { path, text } of files) {
    const read = await parseStrictYaml(text, 1, LIMITS);
    if ('fault' in read) {
      fail(path, read.line, read.fault);
      continue;
    }
    const made = toRule(read.value);
    if ('rule' in made) {
      const taken = [...known, ...rules].some((one) => one.id === made.rule.id);
      if (taken) fail(path, 1, `there is a rule ${made.rule.id} already`);
      else rules.push(made.rule);
      continue;
    }
    const [fault] = made;
    const node = read.document.getIn(fault?.key ?? [], true) as { readonly range?: readonly number[] } | undefined;
    fail(
      path,
      node?.range ? read.lines.linePos(node.range[0] ?? 0).line : 1,
      excerpt(fault?.message ?? 'it is no rule'),
    );
  }
  return { rules, findings };
}
