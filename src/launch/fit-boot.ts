import type { BootArtifact, BootContext, BootRank } from '../load/boot-context.ts';
import { renderBoot } from '../load/render-boot.ts';

/** A boot context as text, and what had no room in it. */
export interface Fitted {
  readonly text: string;
  readonly leftOut: readonly string[];
}

/** Most names told of what was left out. */
const MAX_NAMES = 20;

/**
 * Renders a boot context so that it fits. Of each rank the longest text has to go before the others. Nothing is cut within a text, and the context
 * says what is missing.
 * @param fits whether a whole text is short enough for the host.
 * @param mayGo ranks that may be left out, the first before the next: a launcher keeps all rules or does not start, a hook can only say what is missing.
 * @returns null where what must stay does not fit.
 */
export function fitBoot(boot: BootContext, fits: (text: string) => boolean, mayGo: readonly BootRank[]): Fitted | null {
  const whole = renderBoot(boot, 'markdown');
  if (fits(whole)) return { text: whole, leftOut: [] };
  const order = mayGo.flatMap((rank) =>
    [...artifactsOf(boot, rank)].sort((a, b) => b.content.length - a.content.length),
  );
  // Halving: how many of them have to go, at least.
  let low = 1;
  let high = order.length;
  let best: Fitted | null = null;
  while (low <= high) {
    const count = (low + high) >> 1;
    const tried = without(boot, new Set(order.slice(0, count)));
    if (fits(tried.text)) {
      best = tried;
      high = count - 1;
    } else low = count + 1;
  }
  return best;
}

function without(boot: BootContext, gone: ReadonlySet<BootArtifact>): Fitted {
  const sections = boot.sections.map((section) => ({
    ...section,
    artifacts: section.artifacts.filter((one) => !gone.has(one)),
  }));
  const leftOut = [...gone].map(({ path, line }) => (line === null ? path : `${path}:${line}`)).sort();
  const more = leftOut.length - MAX_NAMES;
  const names = `${leftOut.slice(0, MAX_NAMES).join(', ')}${more > 0 ? `, and ${more} more` : ''}`;
  const rules = artifactsOf(boot, 'binding').filter((one) => gone.has(one)).length;
  const said = rules === 0 ? 'None of it is a rule.' : `${rules} of it are rules that bind: read them before you act.`;
  const note = `Left out, because this host takes no more: ${names}. ${said} To read it: writ load`;
  return { text: `${renderBoot({ ...boot, sections }, 'markdown')}\n${note}\n`, leftOut };
}

function artifactsOf(boot: BootContext, rank: BootRank): readonly BootArtifact[] {
  return boot.sections.find((section) => section.rank === rank)?.artifacts ?? [];
}
