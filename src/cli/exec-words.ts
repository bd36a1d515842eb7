import type { LaunchProfile } from '../discover/launch-profile.ts';
import type { HostProfile } from '../discover/profile.ts';
import { isInside } from '../files/workspace-root.ts';
import type { Judgement } from '../gate.ts';
import type { Plan } from '../launch/plan.ts';
import type { Reading } from '../launch/readings.ts';
import type { BootContext } from '../load/boot-context.ts';
import { entryOf } from '../model/codes.ts';
import { escapePath, escapeText } from '../model/escaped.ts';
import type { Finding } from '../model/finding.ts';
import type { Judged } from '../model/stages.ts';
import { isSetRefusal } from '../report/verdicts.ts';
import { fill, reasonOf } from '../report/verdicts-text.ts';
import { EXIT, type Exit } from './command.ts';
import { tell } from './output.ts';
import type { Workspace } from './workspace.ts';

/** Most files and refusals named one by one. */
const MAX_TOLD = 20;

/** Why a host is not started. */
export interface Refusals {
  /** Exit 1: a line each, with code and cure. */
  readonly refused: readonly string[];
  /** Exit 4: what could not be checked. */
  readonly unchecked: readonly string[];
}

interface Case {
  readonly judgement: Judgement;
  readonly plan: Plan;
  readonly boot: BootContext;
  readonly strict: boolean;
  /** The word of CMD that carries on an earlier session, or null. */
  readonly resumed: string | null;
}

/** Everything that stands against a start (cli.md, exec). */
export function refusalsOf({ judgement, plan, boot, strict, resumed }: Case): Refusals {
  const { artifacts, findings } = judgement;
  const refused = [
    ...findings.filter((one) => one.code === 'binding-missing' || isSetRefusal(judgement, one)).map(line),
    ...plan.refused.map(({ judged, finding }) => lineOf(judged, finding)),
    ...boot.refused.filter((one) => one.rank === 'binding').map((one) => lineOf(one, DELIMITER)),
  ];
  if (strict) {
    refused.push(
      ...artifacts
        // What lies outside is never moved; where this host reads it and nothing keeps it out, it is open.
        .filter((one) => one.rank === 'quarantined' && !one.unchecked && !one.evidence.parsed.candidate.outside)
        .map((one) => lineOf(one, reasonOf(one))),
      ...plan.open.map((one) => lineOf(one.judged, OPEN)),
      ...(resumed === null
        ? []
        : [`  ${escapeText(resumed, 64)}: what an earlier session has read was not judged now`]),
    );
  }
  return {
    refused: [...new Set(refused)],
    unchecked: [
      ...findings.filter((one) => entryOf(one).unchecked === true).map(line),
      ...artifacts.filter((one) => one.unchecked).map((one) => lineOf(one, reasonOf(one))),
    ],
  };
}

const DELIMITER = {
  code: 'boot-context',
  message: 'It holds the delimiter of the boot context.',
  cure: 'Run it again.',
};
const OPEN = {
  code: 'host-loads-raw',
  message: 'The host reads it later or from outside the workspace, and no switch keeps it out.',
  cure: 'Approve it: writ approve PATH; or take it away; or start without --strict.',
};

type Said = Pick<Finding, 'message' | 'cure'> & { readonly code: string };

function line(one: Said): string {
  return `  ${one.code}: ${one.message}\n    cure: ${one.cure}`;
}

function lineOf(judged: Judged, said: Said | null): string {
  const { candidate, line: at } = judged.evidence.parsed;
  const where = `${escapePath(candidate.path)}${at === null ? '' : `:${at}`}`;
  return said === null
    ? `  ${where}: ${judged.rank}`
    : `  ${where}: ${said.code}: ${said.message}\n    cure: ${fill(said.cure, judged)}`;
}

/** Tells why a host is not started, or under `observe` what would have stopped it. @returns 1, 4, or 0 where nothing stands against it. */
export async function tellRefusals({ refused, unchecked }: Refusals, title: string, observe: boolean): Promise<Exit> {
  const lines = [...refused, ...unchecked];
  if (lines.length === 0) return EXIT.ok;
  const more = lines.length - MAX_TOLD;
  const shown = [...lines.slice(0, MAX_TOLD), ...(more > 0 ? [`  and ${more} more: writ check`] : [])].join('\n');
  await tell(
    observe
      ? `writ: observe: ${title} starts all the same; without it these would stop it:\n${shown}`
      : `writ: ${title} is not started: ${refused.length > 0 ? 'refused' : 'not everything could be checked'}\n${shown}`,
  );
  return refused.length > 0 ? EXIT.refused : EXIT.unchecked;
}

/** Names what the host will read although it does not bind and no switch keeps it out. */
export async function tellOpen(open: readonly Reading[], title: string): Promise<void> {
  const told = async (which: readonly Reading[], when: string): Promise<void> => {
    if (which.length === 0) return;
    const names = which.slice(0, MAX_TOLD).map(({ judged }) => escapePath(judged.evidence.parsed.candidate.path));
    const more = which.length - names.length;
    await tell(
      `writ: ${title} has no switch that keeps out what it reads ${when}: ${names.join(', ')}${more > 0 ? `, and ${more} more` : ''}`,
    );
  };
  const isOutside = ({ judged }: Reading): boolean => judged.evidence.parsed.candidate.outside;
  await told(open.filter(isOutside), 'from outside the workspace');
  await told(
    open.filter((one) => !isOutside(one)),
    'later, as it works',
  );
}

interface Started {
  readonly host: HostProfile;
  readonly launch: LaunchProfile | null;
  readonly workspace: Workspace;
  readonly program: string;
}

/** The last words before the host speaks: what it starts with, and what it does without. */
export async function tellPlan(
  { host, launch, workspace, program }: Started,
  plan: Plan,
  boot: BootContext,
  observe: boolean,
): Promise<void> {
  const counts = boot.sections.map(({ rank, artifacts }) => `${artifacts.length} ${rank}`).join(', ');
  const without = observe ? [] : plan.narrowed.flatMap((name) => launch?.narrow[name]?.says ?? []);
  await tell(
    `writ: starting ${host.title} with ${counts}${without.length > 0 ? `; ${without.join('; ')}` : ''}${observe ? '; observe: nothing is kept out' : ''}`,
  );
  for (const one of observe ? [] : plan.unused)
    await tell(
      `writ: ${escapePath(one.evidence.parsed.candidate.path)} is approved but not used: the switch that keeps out what is not approved keeps it out too`,
    );
  if (isInside(workspace.root.path, program))
    await tell(
      `writ: ${escapePath(program)} lies in the workspace: whoever may write there may change what is started`,
    );
}
