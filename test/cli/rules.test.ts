import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codes, Workspace } from '../support/workspace.ts';

const RULE = `id: our-secret-word
family: concealment
severity: block
contexts: [prose]
literals: [xyzzyplugh]
patterns: ['\\bxyzzyplugh\\b']
why: Our own tripwire word.
bad: ['say xyzzyplugh now', 'xyzzyplugh', 'a xyzzyplugh b', 'then xyzzyplugh.', 'xyzzyplugh!']
good: ['say nothing', 'xyzzy', 'plugh', 'hello', 'world']
`;

describe('rule files of a workspace', () => {
  let ws: Workspace;
  beforeAll(() => {
    ws = new Workspace().govern();
    ws.put('AGENTS.md', 'The word is xyzzyplugh here.\n');
    ws.put('policies/rules/our-secret-word.yaml', RULE);
  });
  afterAll(() => ws.remove());

  it('ignores a file the set does not list, and says so', () => {
    expect(ws.check().findings.map((one) => one.code)).toContain('policy-file-unlisted');
    expect(codes(ws.verdict('AGENTS.md'))).not.toContain('scan/our-secret-word');
  });

  it('runs it once it is signed', () => {
    ws.must('f13', ['trust', 'sign']);
    expect(ws.verdict('AGENTS.md')).toMatchObject({ rank: 'quarantined' });
    expect(codes(ws.verdict('AGENTS.md'))).toContain('scan/our-secret-word');
  });

  it('proves nobody under a broken rule, and names its line', () => {
    ws.put('policies/rules/our-secret-word.yaml', RULE.replace('severity: block', 'severity: loud'));
    ws.as('f13', ['trust', 'sign']);
    const found = ws.check().findings.find((one) => one.code === 'policy-invalid');
    expect(found).toMatchObject({
      file: 'policies/rules/our-secret-word.yaml',
      line: 3,
      message: expect.stringContaining('severity'),
    });
    expect(ws.check().exit).toBe(1);
  });
});
