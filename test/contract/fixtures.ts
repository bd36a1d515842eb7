const EVIDENCE = {
  patterns_checked: [],
  files_checked: ['src/a.ts'],
  commands_run: [{ command: 'npm test', result: 'ok' }],
  key_outputs: ['it builds'],
  verbatim_outputs: [],
  cross_layer_impacts: [],
  open_gaps: [],
};
const PASS = { method: 'ran it', result: 'pass', details: 'green' };

type Json = Readonly<Record<string, unknown>>;

/** An envelope of a profile in which everything holds; parts of it may be replaced. */
export function envelope(
  profile: 'plan_status' | 'agent_state',
  status: Json = {},
  evidence: unknown = EVIDENCE,
  root: Json = {},
): Json {
  return {
    agent_status: {
      [profile]: 'IN_PROGRESS',
      agent_id: 'a0123456789abcdef',
      pending_steps: [],
      next_action: 'go on',
      ...status,
    },
    evidence_report: evidence,
    consolidation_report: null,
    approval_request: null,
    ...root,
  };
}

export const evidence = (more: Json): Json => ({ ...EVIDENCE, ...more });
const without = (key: string): Json => Object.fromEntries(Object.entries(EVIDENCE).filter(([name]) => name !== key));
const dropped = (of: Json, key: string): Json => ({
  ...of,
  agent_status: Object.fromEntries(Object.entries(of.agent_status as Json).filter(([name]) => name !== key)),
});

type Row = readonly [string, unknown, readonly (readonly [string, string])[], (readonly string[])?];

const MISSING = ['AGENT_ID', 'AGENT_STATUS', 'PLAN_STATUS'];
const ps = (...of: [Json?, unknown?, Json?]): Json => envelope('plan_status', ...of);
const as = (...of: [Json?, unknown?, Json?]): Json => envelope('agent_state', ...of);
const done = { next_action: 'done' };

const plan: readonly Row[] = [
  ['all holds', ps(), [], []],
  ['status in another spelling', ps({ plan_status: ' Blocked.; ' }), []],
  [
    'status of the other profile',
    ps({ plan_status: 'NEEDS_VERIFICATION' }),
    [['PLAN_STATUS', 'agent_status.plan_status']],
    ['PLAN_STATUS'],
  ],
  [
    'a bad status hides the evidence',
    ps({ plan_status: 'DONE' }, {}),
    [['PLAN_STATUS', 'agent_status.plan_status']],
    ['PLAN_STATUS'],
  ],
  ['status zero', ps({ plan_status: 0 }), [['PLAN_STATUS', 'agent_status.plan_status']], ['PLAN_STATUS']],
  ['status null', ps({ plan_status: null }), [['MISSING_FIELD', 'agent_status.plan_status']], ['PLAN_STATUS']],
  ['id with capitals', ps({ agent_id: 'A12345' }), [['AGENT_ID_FORMAT', 'agent_status.agent_id']], ['AGENT_ID']],
  ['id with a line feed at its end', ps({ agent_id: 'abcdef\n' }), []],
  ['id with two', ps({ agent_id: 'abcdef\n\n' }), [['AGENT_ID_FORMAT', 'agent_status.agent_id']]],
  ['id absent', dropped(ps(), 'agent_id'), [['MISSING_FIELD', 'agent_status.agent_id']], ['AGENT_ID']],
  ['pending steps of another type', ps({ pending_steps: 'none' }), []],
  ['next action zero and false', ps({ next_action: 0 }), []],
  [
    'next action of white space',
    ps({ next_action: '\u00a0\u0085' }),
    [['MISSING_FIELD', 'agent_status.next_action']],
    ['NEXT_ACTION'],
  ],
  [
    'two faults in order',
    ps({ plan_status: null, next_action: '' }),
    [
      ['MISSING_FIELD', 'agent_status.plan_status'],
      ['MISSING_FIELD', 'agent_status.next_action'],
    ],
    ['NEXT_ACTION', 'PLAN_STATUS'],
  ],
  [
    'two evidence keys in order',
    ps({}, { ...without('open_gaps'), files_checked: undefined, FILES_CHECKED: null }),
    [['MISSING_FIELD', 'evidence_report.open_gaps']],
    ['OPEN_GAPS'],
  ],
  ['evidence a text', ps({}, 'none'), [['MISSING_FIELD', 'evidence_report']], ['EVIDENCE_REPORT']],
  [
    'COMPLETE without evidence',
    ps({ plan_status: 'COMPLETE' }, null),
    [
      ['MISSING_FIELD', 'evidence_report'],
      ['VERIFICATION_RESULT', 'evidence_report.verification'],
    ],
    ['EVIDENCE_REPORT', 'VERIFICATION_RESULT_REQUIRED_FOR_COMPLETE'],
  ],
  ['COMPLETE with Pass', ps({ plan_status: 'COMPLETE' }, evidence({ verification: { result: ' Pass\n' } })), []],
  [
    'COMPLETE with true',
    ps({ plan_status: 'COMPLETE' }, evidence({ verification: { result: true } })),
    [['VERIFICATION_RESULT', 'evidence_report.verification.result']],
    ['VERIFICATION_RESULT_MUST_BE_PASS'],
  ],
  [
    'COMPLETE with passed',
    ps({ plan_status: 'COMPLETE' }, evidence({ verification: { result: 'passed' } })),
    [['VERIFICATION_RESULT', 'evidence_report.verification.result']],
  ],
  ['keys nobody knows', ps({}, evidence({ surprise: 1 }), { surprise: 2 }), []],
  ['no object', 7, [['MISSING_FIELD', 'agent_contract_handoff']], MISSING],
  ['nothing', null, [['MISSING_FIELD', 'agent_contract_handoff']], MISSING],
  ['an empty object', {}, [['MISSING_FIELD', 'agent_status']], MISSING],
];

const state: readonly Row[] = [
  ['all holds', as(), []],
  ['NEEDS_VERIFICATION', as({ agent_state: 'needs_verification' }), []],
  ['a short id', as({ agent_id: 'a0123456789' }), [['AGENT_ID_FORMAT', 'agent_status.agent_id']]],
  [
    'types',
    as({ pending_steps: 'x', next_action: 3 }),
    [
      ['FIELD_TYPE', 'agent_status.pending_steps'],
      ['FIELD_TYPE', 'agent_status.next_action'],
    ],
  ],
  [
    'an evidence list that is a text',
    as({}, evidence({ key_outputs: 'x' })),
    [['FIELD_TYPE', 'evidence_report.key_outputs']],
  ],
  [
    'reports of other types',
    as({}, EVIDENCE, { consolidation_report: [], approval_request: 'x' }),
    [
      ['FIELD_TYPE', 'consolidation_report'],
      ['FIELD_TYPE', 'approval_request'],
    ],
  ],
  ['a status in a list', as({ agent_state: ['COMPLETE'] }), [['FIELD_TYPE', 'agent_status.agent_state']]],
  [
    'keys at three levels',
    as({ task: 1 }, evidence({ agent_id: 'x', odd: 1 }), { next_action: 'x', odd: 1 }),
    [
      ['MISPLACED_KEY', 'next_action'],
      ['UNKNOWN_FIELD', 'odd'],
      ['UNKNOWN_FIELD', 'agent_status.task'],
      ['MISPLACED_KEY', 'evidence_report.agent_id'],
      ['UNKNOWN_FIELD', 'evidence_report.odd'],
    ],
  ],
  ['keys of the system', as({}, EVIDENCE, { _contract_tag: 'x', degraded: true, agent_state: 'DISPATCHED' }), []],
  ['advisory fields are not looked at', as({}, EVIDENCE, { user_facing_summary: 4, memory_suggestions: 'x' }), []],
  [
    'COMPLETE and not done',
    as({ agent_state: 'COMPLETE', next_action: 'push', pending_steps: ['a'] }, evidence({ verification: PASS })),
    [
      ['COMPLETE_SHAPE', 'agent_status.next_action'],
      ['COMPLETE_SHAPE', 'agent_status.pending_steps'],
    ],
  ],
  ['COMPLETE and Done', as({ agent_state: 'COMPLETE', next_action: ' Done ' }, evidence({ verification: PASS })), []],
  [
    'two faults of verification',
    as({ agent_state: 'COMPLETE', ...done }, evidence({ verification: { type: 'command', result: 'fail' } })),
    [
      ['VERIFICATION_SHAPE', 'evidence_report.verification.command'],
      ['VERIFICATION_RESULT', 'evidence_report.verification.result'],
    ],
  ],
  [
    'self review, spelt with a dash',
    as({}, evidence({ verification: { type: 'Self-Review' } })),
    [['VERIFICATION_SHAPE', 'evidence_report.verification.reviewed']],
  ],
  [
    'semantic',
    as({}, evidence({ verification: { type: 'semantic', requires_human: [] } })),
    [['VERIFICATION_SHAPE', 'evidence_report.verification.requires_human']],
  ],
  [
    'a word of its own with evidence',
    as({}, evidence({ verification: { type: 'dry run', reviewed: 'the plan' } })),
    [],
  ],
  ['a blank type', as({}, evidence({ verification: { type: ' ' } })), []],
  [
    'APPROVAL_REQUEST without',
    as({ agent_state: 'APPROVAL_REQUEST' }, EVIDENCE, { approval_request: {} }),
    [['APPROVAL_REQUEST_SHAPE', 'approval_request']],
  ],
  [
    'APPROVAL_REQUEST without the command',
    as({ agent_state: 'APPROVAL_REQUEST' }, EVIDENCE, { approval_request: { exact_content: ' ' } }),
    [['APPROVAL_REQUEST_SHAPE', 'approval_request.exact_content']],
  ],
  ['failure report a text', as({}, EVIDENCE, { failure_report: 'x' }), [['FAILURE_REPORT_SHAPE', 'failure_report']]],
  [
    'failure report with empty evidence',
    as({}, EVIDENCE, { failure_report: { attempted: 'a', symptom: 'b', evidence: [' '], severity: 'dire' } }),
    [
      ['FAILURE_REPORT_SHAPE', 'failure_report.evidence'],
      ['FAILURE_REPORT_SHAPE', 'failure_report.severity'],
    ],
  ],
  ['work phase', as({}, EVIDENCE, { work_phase: ' Planning ' }), []],
  ['work phase unknown', as({}, EVIDENCE, { work_phase: 'dreaming' }), [['WORK_PHASE_SHAPE', 'work_phase']]],
  [
    'file references',
    as({}, evidence({ files_checked: ['a', { path: 'b', commit: ' ABCDEF0 ' }, { path: '', sha: 'x' }] })),
    [
      ['FILE_REFERENCE_SHAPE', 'evidence_report.files_checked[2].path'],
      ['FILE_REFERENCE_SHAPE', 'evidence_report.files_checked[2].commit'],
      ['FILE_REFERENCE_SHAPE', 'evidence_report.files_checked[2].sha'],
    ],
  ],
  [
    'status of the older profile alone',
    {
      agent_status: { plan_status: 'COMPLETE', agent_id: 'a0123456789abcdef', pending_steps: [], next_action: 'x' },
      evidence_report: EVIDENCE,
    },
    [
      ['UNKNOWN_FIELD', 'agent_status.plan_status'],
      ['MISSING_FIELD', 'agent_status.agent_state'],
    ],
  ],
];

const block = (tag: string, body: unknown, fence = '```'): string =>
  `${fence}${tag}\n${typeof body === 'string' ? body : JSON.stringify(body)}\n${fence}\n`;

const fencesOf = (profile: 'plan_status' | 'agent_state') => {
  const of = (status: string): Json => envelope(profile, { [profile]: status });
  const found = (status: string) => ({ tag: 'agent_contract_handoff', [profile]: status });
  const rows: readonly (readonly [string, string, Json | null])[] = [
    ['between prose', `Done.\n\n${block('agent_contract_handoff', of('BLOCKED'))}\nBye.`, found('BLOCKED')],
    [
      'tagged beats a later json block',
      block('agent_contract_handoff', of('BLOCKED')) + block('json', of('COMPLETE')),
      found('BLOCKED'),
    ],
    [
      'json without a status is passed over',
      block('json', of('BLOCKED')) + block('json', { agent_status: { [profile]: '' } }) + block('json', '[1]'),
      found('BLOCKED'),
    ],
    ['json that does not parse is passed over', block('json', of('BLOCKED')) + block('json', '{'), found('BLOCKED')],
    [
      'tag with white space',
      `\`\`\`agent_contract_handoff  \n\n${JSON.stringify(of('BLOCKED'))}\n\`\`\` `,
      found('BLOCKED'),
    ],
    ['tag with a tail', block('agent_contract_handoff_v2', of('BLOCKED')), null],
    ['a comment in it', block('agent_contract_handoff', `// x\n${JSON.stringify(of('BLOCKED'))}`), null],
    ['never closed', `\`\`\`agent_contract_handoff\n${JSON.stringify(of('BLOCKED'))}\n`, null],
    ['an empty block', '```agent_contract_handoff\n```\n', null],
    [
      'Infinity in it',
      block(
        'agent_contract_handoff',
        JSON.stringify({ ...of('BLOCKED'), n: 0 }).replace('"n":0', '"n":[-Infinity,NaN]'),
      ),
      found('BLOCKED'),
    ],
    ['NaN in a word', block('agent_contract_handoff', '{"n":1NaN}'), null],
    ['fence in a string', block('agent_contract_handoff', { ...of('BLOCKED'), note: '\n```\n' }), found('BLOCKED')],
  ];
  return rows.map(([name, text, parsed]) => ({ name, text, parsed }));
};

const toForm = (rows: readonly Row[]) =>
  rows.map(([name, of, errors, legacy_tokens]) => ({
    name,
    envelope: of,
    ok: errors.length === 0,
    errors,
    ...(legacy_tokens === undefined ? {} : { legacy_tokens }),
  }));

/** The repo's own rows, of the same kinds as the recorded ones. */
export const fixtures = [
  { profile: 'plan_status', form: toForm(plan), fence: fencesOf('plan_status') },
  { profile: 'agent_state', form: toForm(state), fence: fencesOf('agent_state') },
];
