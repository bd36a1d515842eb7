import {
  type AgentCard,
  type CancelTaskRequest,
  type GetTaskRequest,
  type Message,
  type SendMessageRequest,
  type Task,
  TaskState,
} from '@a2a-js/sdk';
import {
  PushNotificationNotSupportedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors';
import type { A2ARequestHandler, ServerCallContext } from '@a2a-js/sdk/server';
import type { HandoffState } from '../model/handoff.ts';
import { isoOf } from '../model/instant.ts';
import { isJsonObject, type Json } from '../sign/field-reader.ts';
import type { HandoffRow } from '../store/handoffs.ts';
import { EXTENSION } from './card.ts';
import { cancel, type Receiver, type Reception, receive, taskOf } from './receive.ts';

const STATES: Readonly<Record<HandoffState, TaskState>> = {
  sent: TaskState.TASK_STATE_SUBMITTED,
  received: TaskState.TASK_STATE_WORKING,
  accepted: TaskState.TASK_STATE_COMPLETED,
  rejected: TaskState.TASK_STATE_REJECTED,
  escalated: TaskState.TASK_STATE_WORKING,
  late: TaskState.TASK_STATE_WORKING,
  returned: TaskState.TASK_STATE_COMPLETED,
  cancelled: TaskState.TASK_STATE_CANCELED,
};
/** Longest name a client may give its task or message, in UTF-16 units. */
const LONGEST_NAME = 256;

/** What happened, for whoever runs the receiver. Already escaped. */
export type Telling = (line: string) => void;

/**
 * A receiver as the SDK’s transports ask one. Tasks are the rows of state and nothing else, so that after a crash they are told as they stand; the
 * SDK’s own handler would keep them in memory.
 */
export function agentOf(card: AgentCard, receiver: Receiver, tell: Telling): A2ARequestHandler {
  const no = async (): Promise<never> => {
    throw new UnsupportedOperationError('this agent takes handoffs and nothing else');
  };
  const noPush = async (): Promise<never> => {
    throw new PushNotificationNotSupportedError();
  };
  async function* noStream(): AsyncGenerator<never, void, undefined> {
    yield await no();
  }
  return {
    getAgentCard: async () => card,
    getAuthenticatedExtendedAgentCard: no,
    sendMessage: (params, context) => take(params, context, receiver, tell),
    sendMessageStream: noStream,
    getTask: async ({ id }: GetTaskRequest) => toTask(await rowOf(id, receiver), null),
    async cancelTask({ id, metadata }: CancelTaskRequest) {
      const row = await rowOf(id, receiver);
      const stopped = await cancel(row, metadata?.cancel ?? metadata?.[`${EXTENSION}/cancel`], receiver);
      if ('row' in stopped) {
        tell(`cancelled ${row.handoffId}: stop working on it`);
        return toTask(stopped.row, null);
      }
      const why = `${stopped.code === null ? '' : `${stopped.code}: `}${stopped.why}`;
      tell(`refused to cancel ${row.handoffId}: ${why}`);
      throw new TaskNotCancelableError(why);
    },
    createTaskPushNotificationConfig: noPush,
    getTaskPushNotificationConfig: noPush,
    listTaskPushNotificationConfigs: noPush,
    deleteTaskPushNotificationConfig: noPush,
    resubscribe: noStream,
    listTasks: no,
  };
}

async function take(
  { message }: SendMessageRequest,
  context: ServerCallContext,
  receiver: Receiver,
  tell: Telling,
): Promise<Task> {
  const envelope = message === undefined ? null : envelopeIn(message);
  if (message === undefined || envelope === null)
    return refusedTask('handoff-invalid: no part of the message holds a handoff envelope as data');
  if (context.requestedExtensions !== undefined) context.addActivatedExtension(EXTENSION);
  const reception = await receive(envelope, message.messageId.slice(0, LONGEST_NAME), receiver);
  tell(toldOf(reception));
  return reception.row === null ? refusedTask(reception.reason ?? '', reception) : toTask(reception.row, reception);
}

/** The first data part that looks like an envelope. What it is, its signature says. */
function envelopeIn({ parts }: Message): Json | null {
  for (const { content } of parts) {
    if (content?.$case === 'data' && isJsonObject(content.value) && 'payload' in content.value) return content.value;
  }
  return null;
}

async function rowOf(id: string, receiver: Receiver): Promise<HandoffRow> {
  const { set } = await receiver.authority();
  const me = receiver.signer.identity.principal;
  const found = id === '' ? [] : await receiver.rows.named(set.workspace ?? '', id.slice(0, LONGEST_NAME));
  const mine = found.filter((row) => row.side === 'received' && row.receiver === me);
  // Its own name first: a client may call its task what it likes, another’s included.
  const row = mine.find((one) => one.task === id) ?? mine.find((one) => one.handoffId === id) ?? mine[0];
  if (row === undefined) throw new TaskNotFoundError(id.slice(0, LONGEST_NAME));
  return row;
}

function toTask(row: HandoffRow, reception: Reception | null): Task {
  const { handoffId, digest, state, reason, changed } = row;
  return {
    id: taskOf(digest),
    contextId: row.taskId ?? handoffId,
    status: { state: STATES[state], message: said(reason), timestamp: isoOf(changed as Parameters<typeof isoOf>[0]) },
    artifacts: row.ack === null ? [] : [ackArtifact(digest, row.ack)],
    history: [],
    metadata: {
      handoff: true,
      handoffId,
      envelope: digest,
      state,
      ...(reception?.again ? { again: true, code: 'handoff-replayed' } : {}),
      ...(reception && reception.findings.length > 0
        ? { findings: reception.findings.map(({ code, message }) => ({ code, message })) }
        : {}),
    },
  };
}

/** Nothing was taken down, so nobody can ask for it later. */
function refusedTask(reason: string, reception: Reception | null = null): Task {
  const ack = reception?.ack ?? null;
  return {
    id: `refused-${globalThis.crypto.randomUUID()}`,
    contextId: 'refused',
    status: { state: TaskState.TASK_STATE_REJECTED, message: said(reason), timestamp: new Date().toISOString() },
    artifacts: ack === null ? [] : [ackArtifact('refused', ack)],
    history: [],
    metadata: { handoff: true, state: 'rejected', code: reception?.code ?? 'handoff-invalid' },
  };
}

function ackArtifact(of: string, ack: string): Task['artifacts'][number] {
  return {
    artifactId: `ack-${of.slice(0, 16)}`,
    name: 'handoff-ack',
    description: '',
    parts: [
      {
        content: { $case: 'data', value: JSON.parse(ack) },
        metadata: undefined,
        filename: '',
        mediaType: 'application/json',
      },
    ],
    metadata: { handoff: true, ack: true },
    extensions: [EXTENSION],
  };
}

function said(reason: string | null): Message | undefined {
  if (reason === null) return undefined;
  return {
    messageId: globalThis.crypto.randomUUID(),
    contextId: '',
    taskId: '',
    role: 2,
    parts: [{ content: { $case: 'text', value: reason }, metadata: undefined, filename: '', mediaType: 'text/plain' }],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}

function toldOf({ state, row, reason, again }: Reception): string {
  if (row === null) return `refused a handoff: ${reason ?? ''}`;
  const { handoffId, sender } = row;
  return again ? `told ${sender} once more: ${handoffId} is ${state}` : `${state} ${handoffId} from ${sender}`;
}
