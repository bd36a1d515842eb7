import type { AgentCard } from '@a2a-js/sdk';
import { VERSION } from '../generated/template.ts';

/** Our extension: an envelope as a data part, `handoff: true`, and the ACK as the task’s artifact. A breaking change gets another URI. */
export const EXTENSION = 'urn:writ:a2a:handoff:v1';
/** Where a card lies: since A2A 0.3, and before. */
export const CARD_PATHS = ['/.well-known/agent-card.json', '/.well-known/agent.json'] as const;

/** The card of a receiver, in the words of A2A 1.0. */
export function cardOf(name: string, url: string): AgentCard {
  return {
    name,
    description: `${name} takes signed handoffs (writ).`,
    supportedInterfaces: ['1.0', '0.3'].map((protocolVersion) => ({
      url,
      protocolBinding: 'JSONRPC',
      tenant: '',
      protocolVersion,
    })),
    provider: undefined,
    version: VERSION,
    documentationUrl: undefined,
    capabilities: {
      streaming: false,
      pushNotifications: false,
      extendedAgentCard: false,
      extensions: [
        {
          uri: EXTENSION,
          description:
            'Takes a DSSE envelope of urn:writ:handoff:v1 as a data part and answers with a signed urn:writ:ack:v1.',
          required: false,
          params: undefined,
        },
      ],
    },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: ['application/json'],
    defaultOutputModes: ['application/json'],
    skills: [
      {
        id: 'handoff',
        name: 'Take a handoff',
        description: 'Verifies a signed handoff and takes the task over, or says why not.',
        tags: ['handoff'],
        examples: [],
        inputModes: [],
        outputModes: [],
        securityRequirements: [],
      },
    ],
    signatures: [],
    iconUrl: undefined,
  };
}

/** The card as served: the one of 1.0, with what clients of 0.1 to 0.3 look for beside it. */
export function cardJson(card: AgentCard, toJson: (card: AgentCard) => unknown): Readonly<Record<string, unknown>> {
  const [first] = card.supportedInterfaces;
  return {
    ...(toJson(card) as Readonly<Record<string, unknown>>),
    url: first?.url ?? '',
    preferredTransport: 'JSONRPC',
    protocolVersion: '0.3.0',
    capabilities: {
      streaming: false,
      pushNotifications: false,
      stateTransitionHistory: false,
      extensions: card.capabilities?.extensions.map(({ uri, description, required }) => ({
        uri,
        description,
        required,
      })),
    },
    defaultInputModes: card.defaultInputModes,
    defaultOutputModes: card.defaultOutputModes,
    skills: card.skills.map(({ id, name, description, tags }) => ({ id, name, description, tags })),
  };
}
