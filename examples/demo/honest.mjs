import { join } from 'node:path';
import { sideBySide } from './scratch.mjs';

/** Who works in the demo's shop. */
export const CAST = [
  ['f13', 'sovereign: the human. Its key is the root, pinned outside the workspace.'],
  ['lead', 'approver: may approve policy, not a constitution.'],
  ['orchestrator-1', 'orchestrator: may write guidance and propose policy.'],
  ['scout-7', 'specialist: spawned by orchestrator-1 for 8 hours. May leave memory, handoffs, observations.'],
];

export async function setUp(shop) {
  shop.git('init', '-q', '-b', 'main', '.');
  shop.put('README.md', '# Shop\n\nSells tea.\n');
  shop.git('add', '.');
  shop.git('commit', '-q', '-m', 'start');
  await shop.must(null, ['init', '--as', 'f13', '--new-key', '--workspace', 'demo.invalid/acme/shop']);
  shop.useKey('f13', join(shop.base, 'home', '.config', 'writ', 'keys', 'f13'));
  const names = ['lead', 'orchestrator-1', 'scout-7'];
  const [lead, orchestrator, scout] = await sideBySide(names, (name) => shop.newKey(name));
  await shop.must('f13', ['trust', 'add', 'lead', '--role', 'approver', '--pub', lead]);
  await shop.must('f13', ['trust', 'add', 'orchestrator-1', '--role', 'orchestrator', '--pub', orchestrator]);
  const life = ['--pub', scout, '--expires', '8h'];
  await shop.must('orchestrator-1', ['spawn', 'scout-7', '--role', 'specialist', ...life]);
}

/** What honest people and agents leave, and what it must load as. */
export const HONEST = [
  {
    says: 'f13 keeps the constitution; it is part of the signed policy set',
    path: 'policies/constitution.md',
    rank: 'binding',
    plant() {},
  },
  {
    says: 'f13 wrote AGENTS.md by hand and approves it as policy; CLAUDE.md is a link to it',
    path: 'AGENTS.md',
    rank: 'binding',
    async plant(shop) {
      shop.put('AGENTS.md', '# Rules of the shop\n\n- Run `npm test` before you push.\n- Prices are in cents.\n');
      shop.link('AGENTS.md', 'CLAUDE.md');
      await shop.must('f13', ['approve', 'AGENTS.md', '--class', 'policy', '--yes']);
    },
  },
  { says: 'the link is judged under its own name', path: 'CLAUDE.md', rank: 'binding', plant() {} },
  {
    says: 'orchestrator-1 proposes a boot note as policy and the lead approves it',
    path: 'NEXT_AGENT_INIT.md',
    rank: 'binding',
    async plant(shop) {
      const text = '# Next agent\n\nStart with the open orders. Ask before a refund over 50 euros.\n';
      await shop.must('orchestrator-1', ['write', 'NEXT_AGENT_INIT.md', '--class', 'policy', '--expires', '30d'], text);
      await shop.must('lead', ['approve', 'NEXT_AGENT_INIT.md', '--yes']);
    },
  },
  {
    says: 'orchestrator-1 gives advice',
    path: 'prompts/review.md',
    rank: 'advisory',
    async plant(shop) {
      const text = 'Read the test before the code it tests. Small commits are easier to review.\n';
      await shop.must('orchestrator-1', ['write', 'prompts/review.md', '--class', 'guidance'], text);
    },
  },
  {
    says: 'orchestrator-1 writes a skill; its own front matter stays the host\u2019s, so the manifest is a sidecar',
    path: '.claude/skills/release/SKILL.md',
    rank: 'advisory',
    async plant(shop) {
      const text = '---\nname: release\ndescription: How a release is cut.\n---\nTag the commit, then build.\n';
      await shop.must('orchestrator-1', ['write', '.claude/skills/release/SKILL.md', '--class', 'guidance'], text);
    },
  },
  {
    says: 'scout-7 remembers something',
    path: 'memory/flaky-tests.md',
    rank: 'reference',
    async plant(shop) {
      const text = 'The checkout test failed twice on Monday; both times the clock of the runner was ahead.\n';
      await shop.must('scout-7', ['write', 'memory/flaky-tests.md', '--class', 'memory'], text);
    },
  },
  {
    says: 'scout-7 hands its work over, for a week',
    path: 'HANDOFF_orders.md',
    rank: 'reference',
    async plant(shop) {
      const text = 'Done: order export. Open: the invoice number is missing in 3 of 40 rows.\n';
      const args = ['write', 'HANDOFF_orders.md', '--class', 'operational_handoff', '--expires', '7d'];
      await shop.must('scout-7', args, text);
    },
  },
  {
    says: 'scout-7 posts a signed line on the board',
    path: 'agent-board.jsonl',
    line: 1,
    rank: 'reference',
    async plant(shop) {
      await shop.must('scout-7', ['post', 'agent-board.jsonl', '--kind', 'observation'], 'tests pass on main\n');
    },
  },
];
