import type { Judgement } from '../gate.ts';
import { HOSTS } from '../generated/hosts.ts';
import { entryOf } from '../model/codes.ts';
import { shellWord } from '../model/escaped.ts';
import type { Judged, LiveApproval } from '../model/stages.ts';
import type {
  PageData,
  PageEnd,
  PageHandoff,
  PageHeld,
  PageHost,
  PagePerson,
  PageText,
  PageVersion,
  RankWord,
} from '../page/data.ts';
import { replaces } from '../policy/approvals.ts';
import type { Catalogue } from './catalogue.ts';
import { toPeople } from './page-people.ts';
import { short, toPageFinding, toPageText, whole } from './page-text.ts';

/** What the page shows besides the judgement; texts as they lie on disk, escaped here. */
export interface Beside {
  readonly catalogue: Catalogue;
  /** What `writ check` would end in. */
  readonly exit: number;
  readonly held: readonly PageHeld[];
  readonly heldFaults: PageData['heldFaults'];
  /** Handoffs that are not finished; null where none are kept or they could not be read. */
  readonly handoffs: readonly PageHandoff[] | null;
}

/** Most rows of each list. A page of more opens in no browser; what is left out is said. */
const MOST = { texts: 20_000, people: 2_000, versions: 5_000, ends: 2_000, held: 2_000, handoffs: 2_000 };
const RANKS: readonly RankWord[] = ['binding', 'advisory', 'reference', 'withheld', 'quarantine', 'unchecked'];
/** What has ended stays in the list of ends this long, ms. */
const LATELY = 30 * 86_400_000;

/** Everything the page of `writ report` shows, from one judgement. */
export function toPageData(judgement: Judgement, beside: Beside): PageData {
  const { set, at, artifacts, proofs } = judgement;
  const texts = artifacts.map(toPageText);
  const people = toPeople(judgement);
  const versions = toVersions(proofs.live.all, at);
  const handoffs = beside.handoffs?.map(escapedHandoff) ?? null;
  const ends = toEnds(judgement, people, handoffs ?? []);
  const findings = judgement.findings.map((one) => toPageFinding(one, entryOf(one).effect));
  const cut: string[] = [];
  const most = <T>(list: readonly T[], count: number, what: string): readonly T[] => {
    if (list.length > count) cut.push(`${list.length - count} of ${list.length} ${what}`);
    return list.slice(0, count);
  };
  return {
    schema: 'writ.report/1',
    version: beside.catalogue.version,
    at,
    exit: beside.exit,
    workspace: {
      id: set.workspace === null ? null : short(set.workspace),
      root: set.root,
      intact: set.intact,
      version: set.version,
      constitution: set.constitution,
      enforcement: judgement.enforcement,
      expiresAt: set.expiresAt ?? null,
    },
    counts: countBy(texts),
    findings,
    texts: most(texts.length > MOST.texts ? loudestFirst(texts) : texts, MOST.texts, 'texts'),
    people: most(people, MOST.people, 'people and agents'),
    versions: most(versions, MOST.versions, 'approvals'),
    ends: most(ends, MOST.ends, 'ends'),
    held: most(
      beside.held.map((one) => ({ ...one, path: whole(one.path), codes: one.codes.map(short) })),
      MOST.held,
      'held texts',
    ),
    heldFaults: beside.heldFaults.map(({ file, why }) => ({ file: whole(file), why: short(why) })),
    handoffs: handoffs === null ? null : most(handoffs, MOST.handoffs, 'handoffs'),
    hosts: toHosts(judgement, texts),
    codes: meanings(judgement, beside.catalogue),
    cut,
  };
}

function countBy(texts: readonly PageText[]): Readonly<Record<RankWord, number>> {
  const counts = { binding: 0, advisory: 0, reference: 0, quarantine: 0, withheld: 0, unchecked: 0 };
  for (const one of texts) counts[one.rank] += 1;
  return counts;
}

/** What is refused, could not be checked or binds is the last to be left out. */
function loudestFirst(texts: readonly PageText[]): readonly PageText[] {
  const order = [...RANKS].reverse();
  const place = (one: PageText): number =>
    one.rank === 'binding' ? 3 : order.indexOf(one.rank) + Number(order.indexOf(one.rank) > 2);
  return [...texts].sort((a, b) => place(a) - place(b));
}

/** The versions of every path, by path and time. */
function toVersions(live: readonly LiveApproval[], at: number): readonly PageVersion[] {
  const own = live.filter((one) => one.companion === undefined);
  const successors = new Map<string, LiveApproval[]>();
  for (const one of own)
    for (const id of new Set(one.replaces)) {
      const known = successors.get(id);
      if (known) known.push(one);
      else successors.set(id, [one]);
    }
  return own
    .map((one): PageVersion => {
      const after = (successors.get(one.artifactId) ?? []).filter((other) => replaces(other, one));
      const replaced = after.length > 0;
      const ended = one.lapsed ? Math.min(one.expiresAt ?? at, at) : one.expiresAt;
      return {
        path: whole(one.path),
        id: short(one.artifactId),
        class: one.class,
        level: one.level,
        approver: short(one.approver.principal),
        sha256: one.sha256,
        from: one.issuedAt,
        to: replaced ? Math.min(...after.map((other) => other.issuedAt)) : ended,
        state: replaced ? 'replaced' : one.lapsed ? 'ended' : 'stands',
        by: [...new Set(after.map((other) => short(other.artifactId)))],
      };
    })
    .sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : a.from - b.from));
}

function toEnds(
  { set, artifacts, at }: Judgement,
  people: readonly PagePerson[],
  handoffs: readonly PageHandoff[],
): readonly PageEnd[] {
  const ends: PageEnd[] = [
    ...artifacts.flatMap(ofText),
    ...people.flatMap(({ name, kind, ends: end }): readonly PageEnd[] =>
      end === null
        ? []
        : kind === 'spawned'
          ? [{ at: end, what: 'spawn', name, cure: `writ spawn ${name} --role ROLE --pub FILE.pub` }]
          : [{ at: end, what: 'key', name, cure: `writ trust add ${name} --role ROLE --pub FILE.pub` }],
    ),
    ...set.exceptions.map(
      (one): PageEnd => ({
        at: one.until,
        what: 'exception',
        name: `${short(one.code)} for ${whole(one.path)}`,
        cure: `writ waive ${short(one.code)} ${shellWord(one.path)} --owner NAME --reason TEXT --until 30d`,
      }),
    ),
    ...(set.expiresAt == null
      ? []
      : [{ at: set.expiresAt, what: 'policy set' as const, name: short(set.dir), cure: 'writ trust sign' }]),
    ...handoffs.flatMap(({ id, expiresAt }): readonly PageEnd[] =>
      expiresAt === null ? [] : [{ at: expiresAt, what: 'handoff', name: id, cure: 'writ handoff list --open' }],
    ),
  ];
  return ends.filter((one) => one.at > at - LATELY).sort((a, b) => a.at - b.at || (a.name < b.name ? -1 : 1));

  function ofText({ evidence, approvalExpiresAt }: Judged): readonly PageEnd[] {
    const { parsed, claimed } = evidence;
    const name = `${whole(parsed.candidate.path)}${parsed.line === null ? '' : `:${parsed.line}`}`;
    const own = claimed?.manifest.expiresAt ?? parsed.post?.predicate.expiresAt ?? null;
    return [
      ...(approvalExpiresAt === null
        ? []
        : [
            {
              at: approvalExpiresAt,
              what: 'approval' as const,
              name,
              cure: `writ approve --renew ${shellWord(parsed.candidate.path)}`,
            },
          ]),
      ...(own === null
        ? []
        : [
            {
              at: own,
              what: 'text' as const,
              name,
              cure: `writ write ${shellWord(parsed.candidate.path)} --class ${claimed?.manifest.class ?? 'CLASS'} --expires 7d`,
            },
          ]),
    ];
  }
}

/** The hosts that are used here, or that read something of this workspace; those in use first. */
function toHosts({ set, present }: Judgement, texts: readonly PageText[]): readonly PageHost[] {
  const named = set.policy.hosts;
  const by = new Map<string, PageText[]>();
  for (const one of texts) for (const host of new Set(one.readBy.map((use) => use.host))) push(by, host, one);
  return HOSTS.map((host): PageHost => {
    const read = by.get(host.name) ?? [];
    const atLaunch = read.filter((one) => one.readBy.some((use) => use.host === host.name && use.loads === 'launch'));
    const has = (one: PageText, code: string): boolean => one.findings.some((found) => found.code === code);
    return {
      name: host.name,
      title: host.title,
      used: (named ?? present).includes(host.name),
      judged: named === null || named.includes(host.name) || host.name === 'generic',
      counts: countBy(read),
      launch: atLaunch.length,
      raw: atLaunch.filter((one) => has(one, 'host-loads-raw')).length,
      truncated: read.filter((one) => has(one, 'host-truncates')).length,
      seen: host.at,
    };
  })
    .filter((one) => one.used || Object.values(one.counts).some((count) => count > 0))
    .sort((a, b) => Number(b.used) - Number(a.used) || (a.title < b.title ? -1 : 1));
}

function meanings({ artifacts, findings }: Judgement, { kinds }: Catalogue): Readonly<Record<string, string>> {
  const used = new Set<string>([
    ...findings.map((one) => one.code),
    ...artifacts.flatMap((one) => one.findings.map((found) => found.code)),
  ]);
  return Object.fromEntries(
    kinds.filter((one) => used.has(one.id)).map((one) => [one.id, one.why ?? one.entry.meaning]),
  );
}

function escapedHandoff(one: PageHandoff): PageHandoff {
  return {
    ...one,
    id: short(one.id),
    from: short(one.from),
    to: short(one.to),
    intent: short(one.intent),
    state: short(one.state),
  };
}

function push<T>(map: Map<string, T[]>, key: string, value: T): void {
  const known = map.get(key);
  if (known) known.push(value);
  else map.set(key, [value]);
}
