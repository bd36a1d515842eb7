import type { Workspace } from '../support/workspace.ts';
import { attacks } from './attack.ts';
import { approve, DAY, governed, HOUR, lay, revoke, spawn } from './forge.ts';

/** Guidance by an actor: advisory where the chain stands. */
const guidance = (ws: Workspace, path: string, by: string): Promise<unknown> =>
  lay(ws, path, { by, class: 'guidance', approvedBy: null });

attacks('spawn records', governed, [
  {
    name: 'a deputy spawned by an orchestrator may advise',
    path: 'prompts/deputy.md',
    code: null,
    rank: 'advisory',
    make: async (ws) => {
      await spawn(ws, 'orch', 'deputy', { role: 'orchestrator' });
      await guidance(ws, 'prompts/deputy.md', 'deputy');
    },
  },
  {
    name: 'a spawn record the child made itself, naming orch as parent',
    path: 'prompts/self-made.md',
    code: 'spawn-chain-broken',
    rank: 'reference',
    make: async (ws) => {
      await spawn(ws, 'self', 'self', { role: 'orchestrator', parent: 'orch' });
      await guidance(ws, 'prompts/self-made.md', 'self');
    },
  },
  {
    name: 'a child that names itself as its parent',
    path: 'prompts/ouroboros.md',
    code: 'spawn-chain-broken',
    rank: 'reference',
    make: async (ws) => {
      await spawn(ws, 'ouroboros', 'ouroboros', { role: 'orchestrator' });
      await guidance(ws, 'prompts/ouroboros.md', 'ouroboros');
    },
  },
  {
    name: 'two actors that spawned each other',
    path: 'prompts/ring.md',
    code: 'spawn-chain-broken',
    rank: 'reference',
    make: async (ws) => {
      await spawn(ws, 'ring-b', 'ring-a', { role: 'orchestrator' });
      await spawn(ws, 'ring-a', 'ring-b', { role: 'orchestrator' });
      await guidance(ws, 'prompts/ring.md', 'ring-a');
    },
  },
  {
    name: 'a specialist spawns an orchestrator',
    path: 'prompts/widened.md',
    code: 'spawn-role-widened',
    rank: 'reference',
    make: async (ws) => {
      await spawn(ws, 'spec', 'widened', { role: 'orchestrator' });
      await guidance(ws, 'prompts/widened.md', 'widened');
    },
  },
  {
    name: 'a spawned specialist spawns an orchestrator',
    path: 'prompts/widened-2.md',
    code: 'spawn-role-widened',
    rank: 'reference',
    make: async (ws) => {
      await spawn(ws, 'worker', 'widened-2', { role: 'orchestrator' });
      await guidance(ws, 'prompts/widened-2.md', 'widened-2');
    },
  },
  {
    name: 'a child that outlives its parent',
    path: 'prompts/outlives.md',
    code: 'spawn-role-widened',
    rank: 'reference',
    make: async (ws) => {
      await spawn(ws, 'orch', 'short', { role: 'orchestrator', expiresAt: Date.now() + HOUR });
      await spawn(ws, 'short', 'long', { role: 'orchestrator', expiresAt: Date.now() + 5 * HOUR });
      await guidance(ws, 'prompts/outlives.md', 'long');
    },
  },
  {
    name: 'a spawn record over spawns.maxHours',
    path: 'prompts/too-long.md',
    code: 'spawn-role-widened',
    rank: 'reference',
    make: async (ws) => {
      await spawn(ws, 'orch', 'forever', { role: 'orchestrator', expiresAt: Date.now() + 30 * DAY });
      await guidance(ws, 'prompts/too-long.md', 'forever');
    },
  },
  {
    name: 'a spawn record that has run out',
    path: 'prompts/ran-out.md',
    code: 'spawn-expired',
    rank: 'reference',
    make: async (ws) => {
      await spawn(ws, 'orch', 'late', {
        role: 'orchestrator',
        issuedAt: Date.now() - 5 * HOUR,
        expiresAt: Date.now() - HOUR,
      });
      await guidance(ws, 'prompts/ran-out.md', 'late');
    },
  },
  {
    name: 'a spawn record from the future',
    path: 'prompts/future.md',
    code: 'spawn-chain-broken',
    rank: 'reference',
    make: async (ws) => {
      await spawn(ws, 'orch', 'future', {
        role: 'orchestrator',
        issuedAt: Date.now() + DAY,
        expiresAt: Date.now() + DAY + HOUR,
      });
      await guidance(ws, 'prompts/future.md', 'future');
    },
  },
  {
    name: 'a child that writes outside its paths',
    path: 'prompts/escape.md',
    code: 'spawn-path',
    rank: 'reference',
    make: async (ws) => {
      await spawn(ws, 'orch', 'narrow', { role: 'orchestrator', paths: ['docs/**'] });
      await guidance(ws, 'prompts/escape.md', 'narrow');
    },
  },
  {
    name: 'a grandchild given more paths than its parent',
    path: 'prompts/wider.md',
    code: 'spawn-path',
    rank: 'reference',
    make: async (ws) => {
      await spawn(ws, 'narrow', 'wide', { role: 'orchestrator', paths: ['**'] });
      await guidance(ws, 'prompts/wider.md', 'wide');
    },
  },
  {
    name: 'a child that takes the name of a principal',
    path: 'prompts/name.md',
    code: 'spawn-collision',
    rank: 'reference',
    make: async (ws) => {
      await spawn(ws, 'orch', 'f13', { role: 'orchestrator', key: 'not-f13' });
      await lay(ws, 'prompts/name.md', { by: 'not-f13', author: 'f13', class: 'guidance', approvedBy: null });
    },
  },
  {
    name: 'a child that takes the name of another child',
    path: 'prompts/twin.md',
    code: 'spawn-collision',
    rank: 'reference',
    make: async (ws) => {
      await spawn(ws, 'lead', 'twin', { role: 'orchestrator', key: 'twin-a' });
      await spawn(ws, 'orch', 'twin', {
        role: 'orchestrator',
        key: 'twin-b',
        file: 'policies/spawns/twin-2.dsse.json',
      });
      await lay(ws, 'prompts/twin.md', { by: 'twin-b', author: 'twin', class: 'guidance', approvedBy: null });
    },
  },
  {
    name: 'two children with one key, of two parents of one role',
    path: 'prompts/key.md',
    code: 'spawn-collision',
    rank: 'reference',
    make: async (ws) => {
      await spawn(ws, 'lead2', 'one', { role: 'orchestrator', key: 'shared' });
      await spawn(ws, 'lead', 'other', { role: 'orchestrator', key: 'shared' });
      await lay(ws, 'prompts/key.md', { by: 'shared', author: 'other', class: 'guidance', approvedBy: null });
    },
  },
  {
    name: 'a spawn record with the key of a principal gives that key no second name',
    path: 'prompts/second-name.md',
    code: 'author-mismatch',
    rank: 'reference',
    make: async (ws) => {
      await spawn(ws, 'orch', 'alias', { role: 'orchestrator', key: 'spec' });
      await lay(ws, 'prompts/second-name.md', { by: 'spec', author: 'alias', class: 'guidance', approvedBy: null });
    },
  },
  {
    name: 'a chain of four links',
    path: 'prompts/four.md',
    code: 'spawn-chain-broken',
    rank: 'reference',
    make: async (ws) => {
      const issuedAt = Date.now() - 1_000;
      const chain = ['orch', 'link-1', 'link-2', 'link-3', 'link-4'];
      for (const [index, actor] of chain.slice(1).entries())
        await spawn(ws, chain[index] ?? '', actor, { role: 'orchestrator', issuedAt, expiresAt: issuedAt + HOUR });
      await guidance(ws, 'prompts/four.md', 'link-4');
      await guidance(ws, 'prompts/three.md', 'link-3');
    },
  },
  {
    name: 'a chain of three links stands',
    path: 'prompts/three.md',
    code: null,
    rank: 'advisory',
    make: () => undefined,
  },
  {
    name: 'a spawn record of another workspace',
    path: 'prompts/foreign.md',
    code: 'writer-unproven',
    rank: 'reference',
    make: async (ws) => {
      const { put, keyOf, at } = await import('./forge.ts');
      const { publicKey } = await keyOf(ws, 'foreign');
      await put(
        ws,
        'orch',
        {
          type: 'spawn',
          actor: 'foreign',
          role: 'orchestrator',
          parent: 'orch',
          publicKey: publicKey.line,
          paths: [],
          expiresAt: at(Date.now() + HOUR),
          session: null,
        },
        { workspace: 'example.test/other/app', subjects: [{ name: 'foreign.pub', sha256: '0'.repeat(64) }] },
      );
      await guidance(ws, 'prompts/foreign.md', 'foreign');
    },
  },
  {
    name: 'a spawned actor approves',
    path: 'prompts/approved-by-child.md',
    code: 'approver-not-permitted',
    rank: 'quarantined',
    make: async (ws) =>
      approve(ws, 'deputy', await lay(ws, 'prompts/approved-by-child.md', { by: 'lead', approvedBy: 'deputy' })),
  },
  {
    name: 'a spawn revoked by its parent',
    path: 'prompts/fired.md',
    code: 'spawn-chain-broken',
    rank: 'reference',
    make: async (ws) => {
      await spawn(ws, 'orch', 'fired', { role: 'orchestrator' });
      await guidance(ws, 'prompts/fired.md', 'fired');
      await revoke(ws, 'orch', { actor: 'fired' });
    },
  },
  {
    name: 'a specialist cannot revoke a spawn of orch',
    path: 'prompts/not-fired.md',
    code: null,
    rank: 'advisory',
    make: async (ws) => {
      await spawn(ws, 'orch', 'kept', { role: 'orchestrator' });
      await guidance(ws, 'prompts/not-fired.md', 'kept');
      await revoke(ws, 'spec', { actor: 'kept' });
      await revoke(ws, 'spec', { actor: 'orch' });
    },
  },
  {
    name: 'a specialist spawns a child with the name of an honest deputy, which stays who it was',
    path: 'prompts/rival.md',
    code: null,
    rank: 'advisory',
    make: async (ws) => {
      await spawn(ws, 'orch', 'rival', { role: 'orchestrator' });
      await guidance(ws, 'prompts/rival.md', 'rival');
      await spawn(ws, 'spec', 'rival', { key: 'rival-2', file: 'policies/spawns/rival-2.dsse.json' });
    },
  },
  {
    name: 'nor by a child with its key under another name',
    path: 'prompts/other-rival.md',
    code: null,
    rank: 'advisory',
    make: async (ws) => {
      await spawn(ws, 'orch', 'other-rival', { role: 'orchestrator' });
      await guidance(ws, 'prompts/other-rival.md', 'other-rival');
      await spawn(ws, 'spec', 'aaa', { key: 'other-rival', issuedAt: Date.now() + 1_000 });
    },
  },
  {
    name: 'a specialist cannot revoke a deputy it spawned a namesake of',
    path: 'prompts/namesake.md',
    code: null,
    rank: 'advisory',
    make: async (ws) => {
      await spawn(ws, 'orch', 'namesake', { role: 'orchestrator' });
      await guidance(ws, 'prompts/namesake.md', 'namesake');
      await spawn(ws, 'spec', 'namesake', { key: 'namesake-2', file: 'policies/spawns/a-namesake.dsse.json' });
      await revoke(ws, 'spec', { actor: 'namesake' });
    },
  },
]);
