import type { HandoffState } from '../model/handoff.ts';
import type { HandoffSide, OpenCount } from '../store/handoffs.ts';

const WORDS: Readonly<Record<HandoffSide, Partial<Record<HandoffState, string>>>> = {
  sent: {
    sent: 'sent and not answered',
    received: 'sent and not decided about',
    escalated: 'sent and escalated',
    late: 'answered late and not confirmed',
  },
  received: { received: 'received and not decided about' },
};

/** Handoffs somebody still owes a word on, in one line: `2 received and not decided about, 1 sent and escalated`. */
export function openHandoffs(open: readonly OpenCount[]): string {
  return open.map(({ side, state, count }) => `${count} ${WORDS[side][state] ?? state}`).join(', ');
}
