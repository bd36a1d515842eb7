import { escapePath } from '../model/escaped.ts';
import type { Guarded } from './guard.ts';

/** Paths told one by one. */
const MAX_TOLD = 5;

/** Says which paths are not written directly, and how each is written instead. Paths are the agent's words: escaped, and quoted where a shell would read more in them. */
export function refusalOf(guarded: readonly Guarded[]): string {
  const told = guarded.slice(0, MAX_TOLD).map(sentenceOf);
  const more = guarded.length - told.length;
  return `writ: refused. ${told.join(' ')}${more > 0 ? ` And ${more} more.` : ''}`;
}

function sentenceOf({ path, what, kind, looksLike }: Guarded): string {
  const shown = escapePath(path);
  switch (what) {
    case 'state':
      return `${shown} belongs to writ's own pins and state: nobody writes there but writ.`;
    case 'policy':
      return `${shown} belongs to the policy set: a person edits it, then: writ trust sign.`;
    case 'document':
      return `${shown} belongs to the constitution: a person edits it, then: writ trust sign.`;
    case 'outside':
      return `${shown} is loaded by every session from outside the workspace: a person edits it.`;
    case 'init':
      if (looksLike !== null)
        return `${shown} looks like the init path ${escapePath(looksLike)}, which agents boot on: choose another name, or write that one: ${wayTo(looksLike, kind)}.`;
      return `${shown} is an init path, which agents boot on: it is not written, moved or removed directly. Instead: ${wayTo(path, kind)}.`;
  }
}

function wayTo(path: string, kind: Guarded['kind']): string {
  const word = wordOf(path);
  if (kind === 'board') return `writ post ${word} --kind observation, with the text on stdin`;
  if (kind === 'executable') return `a person edits it, then: writ approve ${word} --class policy`;
  const handoff = /INIT|^HANDOFF|^NEXT_|^BOOT/.test(path.slice(path.lastIndexOf('/') + 1));
  const memory = /(?:^|\/)(?:MEMORY\.md$|memory\/|agent-memory)/.test(path);
  const flags = handoff ? 'operational_handoff --expires 7d' : memory ? 'memory' : 'guidance';
  return `writ write ${word} --class ${flags}, with the whole text on stdin; it is signed and judged at the next boot, and binds only once a person approves it (writ approve ${word})`;
}

function wordOf(path: string): string {
  const shown = escapePath(path);
  return /^[\w./+@%:,-]+$/.test(shown) && !shown.startsWith('-') ? shown : `'${shown.replaceAll("'", "'\\''")}'`;
}
