import type { PageData, PageFinding, PageText, RankWord } from '../../src/page/data.ts';

const NOW = Date.parse('2026-12-01T12:00:00Z');
const DAY = 86_400_000;

/** Texts that would run, load, end an element, move a cursor or turn a line round, were they ever more than text. */
export const PAYLOADS: readonly string[] = [
  '<script>window.pwned=1</script>',
  '</script><script>window.pwned=2</script>',
  '<!--<script>window.pwned=3//',
  '"><img src=x onerror="window.pwned=4">',
  "'><svg onload=window.pwned=5>",
  'javascript:window.pwned=6',
  '</style><iframe src="http://127.0.0.1:9/pwned"></iframe>',
  '</title><base href="http://127.0.0.1:9/"><link rel=stylesheet href=//127.0.0.1:9/x.css>',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a payload, not a template
  '{{constructor.constructor("window.pwned=7")()}} ${window.pwned=8} `',
  '\u001b[2J\u001b]8;;http://127.0.0.1:9/\u0007click\u001b]8;;\u0007',
  'AGENTS\u202egnp.md\u2066\u2069\u200b\u{e0041}',
  '__proto__',
  '\u0000\u2028\u2029\ufeff]]>&lt;b&gt;&#x3c;',
];

function finding(text: (name: string) => string): PageFinding {
  return {
    code: text('code'),
    effect: 'reference',
    message: text('message'),
    cure: text('cure'),
    relief: text('relief'),
    file: text('file'),
    line: 3,
    unchecked: true,
  };
}

/** One page of which every text comes from `text`, told by its name. */
export function pageOf(text: (name: string) => string, texts: readonly PageText[] | null = null): PageData {
  const judged = texts ?? ['binding', 'quarantine', 'unchecked'].map((rank, at) => textOf(text, rank as RankWord, at));
  return {
    schema: 'writ.report/1',
    version: text('version'),
    at: NOW,
    exit: 1,
    workspace: {
      id: text('workspace'),
      root: 'pinned',
      intact: true,
      version: 3,
      constitution: text('constitution'),
      enforcement: 'enforce',
      expiresAt: NOW + DAY,
    },
    counts: countsOf(judged),
    findings: [finding(text)],
    texts: judged,
    people: (['root', 'principal', 'spawned', 'spawned'] as const).map((kind, at) => ({
      name: at === 3 ? text('spawned') : `${text('person')}${at}`,
      role: text('role'),
      kind,
      parent: kind === 'spawned' ? (at === 3 ? text('spawned') : `${text('person')}1`) : null,
      keys: [text('key')],
      paths: [text('glob')],
      ends: NOW + DAY,
      fault: at === 2 ? text('fault') : null,
    })),
    versions: (['stands', 'replaced', 'ended'] as const).map((state, at) => ({
      path: text('path'),
      id: text('id'),
      class: text('class'),
      level: text('level'),
      approver: text('approver'),
      sha256: text('sha256'),
      from: NOW - (at + 2) * DAY,
      to: NOW + at * DAY,
      state,
      by: [text('by')],
    })),
    ends: [{ at: NOW + DAY, what: 'approval', name: text('name'), cure: text('cure') }],
    held: [{ id: text('held'), path: text('path'), bytes: 7, at: NOW, codes: [text('code')] }],
    heldFaults: [{ file: text('file'), why: text('why') }],
    handoffs: [
      {
        id: text('handoff'),
        from: text('from'),
        to: text('to'),
        intent: text('intent'),
        state: text('state'),
        at: NOW,
        expiresAt: NOW + DAY,
      },
    ],
    hosts: [
      {
        name: text('host'),
        title: text('title'),
        used: true,
        judged: false,
        counts: countsOf(judged),
        launch: 1,
        raw: 1,
        truncated: 1,
        seen: text('seen'),
      },
    ],
    codes: { [text('code')]: text('meaning') },
    cut: [text('cut')],
  };
}

function textOf(text: (name: string) => string, rank: RankWord, at: number): PageText {
  return {
    path: `${text('path')}${at}`,
    line: at === 2 ? 4 : null,
    rank,
    declared: text('declared'),
    class: text('class'),
    ceiling: text('ceiling'),
    kind: text('kind'),
    id: text('id'),
    level: text('level'),
    carrier: text('carrier'),
    sha256: text('sha256'),
    bytes: 10,
    writer: { name: text('writer'), role: text('role'), via: text('via'), chain: [text('chain'), text('writer')] },
    author: text('author'),
    approvedBy: [text('approver')],
    approvalEnds: NOW + DAY,
    ends: NOW + 2 * DAY,
    created: NOW - DAY,
    readBy: [{ host: text('host'), loads: text('loads') }],
    aliasOf: text('alias'),
    outside: false,
    nested: text('nested'),
    reason: 0,
    findings: [finding(text)],
    raise: text('raise'),
  };
}

/** A page of many harmless texts: every tenth binds, every fiftieth is refused. */
export function manyOf(count: number): PageData {
  const plain = (name: string): string => name;
  const texts = Array.from({ length: count }, (_, at): PageText => {
    const rank = at % 50 === 7 ? 'quarantine' : at % 10 === 0 ? 'binding' : 'reference';
    const some = textOf(plain, rank, at);
    return {
      ...some,
      path: `services/part-${String(at).padStart(5, '0')}/AGENTS.md`,
      line: null,
      aliasOf: null,
      nested: null,
      writer: rank === 'binding' ? some.writer : null,
      approvedBy: rank === 'binding' ? some.approvedBy : [],
    };
  });
  return pageOf(plain, texts);
}

function countsOf(texts: readonly PageText[]): PageData['counts'] {
  const counts = { binding: 0, advisory: 0, reference: 0, quarantine: 0, withheld: 0, unchecked: 0 };
  for (const one of texts) counts[one.rank] += 1;
  return counts;
}
