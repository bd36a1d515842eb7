import { finding } from '../model/codes.ts';
import type { Finding } from '../model/finding.ts';
import type { EvidenceItem } from '../model/handoff.ts';
import { isJsonObject } from '../sign/field-reader.ts';
import { parseStrictJson } from '../sign/strict-json.ts';
import { floorOf } from './floors.ts';

/** What a child is told that starts anew (handoffs.md, interrupt). */
export interface Brief {
  /** 1 to 3 sentences. */
  readonly task: string;
  readonly stateIn: readonly EvidenceItem[];
  /** Floor ids. */
  readonly constraints: readonly string[];
}

const MOST_WORDS = 200;
const MOST_SENTENCES = 3;
const NAMES = ['TASK', 'STATE_IN', 'CONSTRAINT'] as const;
type Sections = Readonly<Record<(typeof NAMES)[number], string>>;

/**
 * Reads TASK, STATE_IN and CONSTRAINT: as lines that begin with the name and a colon, as tags, or as a JSON object. A child that is interrupted gets what
 * it needs and no more, so a longer one is refused.
 */
export function parseBrief(text: string): Brief | Finding {
  const sections = text.trimStart().startsWith('{') ? fromJson(text) : fromText(text);
  if (sections === null) return invalid('it has to say TASK, STATE_IN and CONSTRAINT, each once');
  const { TASK: task, STATE_IN: state, CONSTRAINT: constraint } = sections;
  const words = [task, state, constraint].flatMap((one) => one.split(/\s+/)).filter((one) => one !== '').length;
  if (words > MOST_WORDS)
    return invalid(`it has ${words} words; at most ${MOST_WORDS} are sent to a child that starts anew`);
  const sentences = task.split(/[.!?]+(?:\s|$)/).filter((one) => one.trim() !== '').length;
  if (sentences < 1 || sentences > MOST_SENTENCES)
    return invalid(`TASK has ${sentences} sentences; it takes 1 to ${MOST_SENTENCES}`);
  const constraints = /^none\.?$/i.test(constraint.trim())
    ? []
    : constraint
        .split(/[\s,;]+/)
        .map((one) => one.replace(/\.$/, ''))
        .filter((one) => one !== '');
  if (constraints.length === 0 && !/^none\.?$/i.test(constraint.trim()))
    return invalid('CONSTRAINT names floors, or says None.');
  if (!constraints.every((one) => floorOf(one) !== null))
    return invalid('CONSTRAINT names floors like F1, or says None.');
  const lines = state.split('\n').map((line) => line.replace(/^\s*[-*]\s+/, '').trim());
  const stateIn = lines
    .filter((line) => line !== '' && !/^none\.?$/i.test(line))
    .map((source) => ({ source, rung: 'OBS', confidence: 0.9 }) as const);
  return { task, stateIn, constraints };
}

function fromText(text: string): Sections | null {
  const found = new Map<string, string[]>();
  let open: string[] | null = null;
  for (const line of text.split(/\r?\n/)) {
    const [, tag, named, rest = ''] =
      /^\s*(?:<(TASK|STATE_IN|CONSTRAINT)>|(TASK|STATE_IN|CONSTRAINT)\s*:)(.*)$/.exec(line) ?? [];
    const name = tag ?? named;
    if (name !== undefined) {
      if (found.has(name)) return null;
      open = [];
      found.set(name, open);
    }
    const words = (name === undefined ? line : rest).replace(/<\/(?:TASK|STATE_IN|CONSTRAINT)>\s*$/, '');
    if (open !== null) open.push(words);
    else if (words.trim() !== '') return null;
  }
  return complete((name) => found.get(name)?.join('\n').trim());
}

function fromJson(text: string): Sections | null {
  const read = parseStrictJson(text, { maxDepth: 3 });
  if ('fault' in read || !isJsonObject(read.value)) return null;
  const { value } = read;
  if (!Object.keys(value).every((name) => NAMES.some((one) => one === name))) return null;
  return complete((name) => {
    const given = value[name];
    if (typeof given === 'string') return given.trim();
    return Array.isArray(given) && given.every((one) => typeof one === 'string') ? given.join('\n') : undefined;
  });
}

function complete(of: (name: string) => string | undefined): Sections | null {
  const sections = Object.fromEntries(NAMES.map((name) => [name, of(name)]));
  return NAMES.every((name) => typeof sections[name] === 'string') ? (sections as Sections) : null;
}

function invalid(why: string): Finding {
  return finding('handoff-invalid', { message: `The new envelope cannot be sent: ${why}.` });
}
