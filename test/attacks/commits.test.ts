import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codes, type Verdicts, type Workspace } from '../support/workspace.ts';
import { only } from './attack.ts';
import { governed, lay } from './forge.ts';

/** Facts 4.2: who signed a commit counts, never who it says it is from. */
describe('signed commits', () => {
  let ws: Workspace;
  let seen: Verdicts & { readonly exit: number };

  const commit = (key: string | null, path: string, author = 'dev'): void => {
    ws.git('add', '-A');
    const by = ['-c', `user.name=${author}`, '-c', `user.email=${author}@example.test`];
    const sign =
      key === null
        ? ['commit', '-q', '--allow-empty', '-m', path]
        : [
            '-c',
            'gpg.format=ssh',
            '-c',
            `user.signingkey=${ws.key(key)}`,
            'commit',
            '-q',
            '-S',
            '--allow-empty',
            '-m',
            path,
          ];
    ws.git(...by, ...sign);
  };

  beforeAll(async () => {
    ws = await governed({ git: true });
    commit(null, 'set-up');
    await lay(ws, 'prompts/orch.md', { by: null, author: 'orch', class: 'memory', approvedBy: null });
    commit('orch', 'an honest memory, committed by orch');
    await lay(ws, 'prompts/mallory.md', { by: null, author: 'orch', class: 'memory', approvedBy: null });
    commit('mallory', 'signed by a stranger', 'orch');
    await lay(ws, 'prompts/later.md', { by: null, author: 'orch', class: 'memory', approvedBy: null });
    commit('orch', 'first');
    ws.put('prompts/later.md', `${ws.read('prompts/later.md')}More.\n`);
    await lay(ws, 'prompts/later.md', { by: null, author: 'orch', class: 'memory', approvedBy: null });
    commit(null, 'changed without a signature');
    await lay(ws, 'prompts/dirty.md', { by: null, author: 'orch', class: 'memory', approvedBy: null });
    commit('orch', 'then changed in the work tree');
    await lay(ws, 'prompts/policy.md', { by: null, author: 'f13', approvedBy: 'f13' });
    commit('f13', 'a policy committed by the sovereign');
    await lay(ws, 'prompts/guidance.md', { by: null, author: 'orch', class: 'guidance', approvedBy: null });
    commit('orch', 'guidance committed by an orchestrator');
    ws.git('checkout', '-q', '-b', 'side');
    await lay(ws, 'prompts/merged.md', { by: null, author: 'orch', class: 'memory', approvedBy: null });
    commit(null, 'unsigned on a side branch');
    ws.git('checkout', '-q', 'main');
    ws.git(
      '-c',
      'gpg.format=ssh',
      '-c',
      `user.signingkey=${ws.key('orch')}`,
      'merge',
      '-q',
      '-S',
      '--no-ff',
      '-m',
      'merge',
      'side',
    );

    await lay(ws, 'prompts/dirty.md', { by: null, author: 'orch', class: 'memory', approvedBy: null });

    const canary = join(ws.base, 'canary.sh');
    writeFileSync(canary, `#!/bin/sh\ntouch "${join(ws.base, 'ran')}"\nexit 0\n`);
    chmodSync(canary, 0o755);
    const signers = join(ws.root, 'evil_signers');
    writeFileSync(signers, `orch ${ws.read('policies/allowed_signers').split('\n').length}\n`);
    ws.put(
      '.git/config',
      `${ws.read('.git/config')}[core]\n\tfsmonitor = ${canary}\n\thooksPath = ${ws.base}\n\tpager = ${canary}\n\tsshCommand = ${canary}\n\tattributesFile = ${ws.base}/attributes\n[gpg]\n\tprogram = ${canary}\n\tformat = ssh\n[gpg "ssh"]\n\tprogram = ${canary}\n\tallowedSignersFile = ${signers}\n[log]\n\tshowSignature = true\n[diff]\n\texternal = ${canary}\n[filter "x"]\n\tclean = ${canary}\n\tsmudge = ${canary}\n[alias]\n\tlog = !${canary}\n\trev-list = !${canary}\n[uploadpack]\n\tpackObjectsHook = ${canary}\n`,
    );
    ws.put('.gitattributes', '* filter=x diff=x\n');
    seen = ws.check();
  });
  afterAll(() => ws.remove());

  const verdict = (path: string): ReturnType<typeof only> => only(seen.artifacts, path);

  it('proves who committed exactly these bytes, as specialist at most', () => {
    expect(verdict('prompts/orch.md').writer).toEqual({ principal: 'orch', role: 'specialist', via: 'commit' });
    expect(verdict('prompts/orch.md').rank).toBe('reference');
  });

  it('a commit signed by mallory with orch as author proves nothing', () => {
    expect(codes(verdict('prompts/mallory.md'))).toContain('writer-unproven');
    expect(verdict('prompts/mallory.md').writer).toBeNull();
  });

  it('a signed commit with a later unsigned one proves nothing', () => {
    expect(codes(verdict('prompts/later.md'))).toContain('writer-unproven');
  });

  it('a signed commit does not cover what the work tree changed since', () => {
    expect(codes(verdict('prompts/dirty.md'))).toContain('writer-unproven');
  });

  it('a signed merge does not vouch for what the branch brought', () => {
    expect(codes(verdict('prompts/merged.md'))).toContain('writer-unproven');
  });

  it('a policy committed and signed by the sovereign is not approved by that', () => {
    expect(verdict('prompts/policy.md').rank).toBe('quarantined');
    expect(codes(verdict('prompts/policy.md'))).toContain('approval-unproven');
  });

  it('guidance committed by an orchestrator stays reference: agents commit with the keys of people', () => {
    expect(verdict('prompts/guidance.md').rank).toBe('reference');
    expect(codes(verdict('prompts/guidance.md'))).toContain('role-forbids-class');
  });

  it('a hostile .git/config runs nothing and chooses no trust', () => {
    expect(existsSync(join(ws.base, 'ran'))).toBe(false);
    ws.run(['load', '--format', 'none']);
    ws.run(['check', 'prompts/orch.md']);
    expect(existsSync(join(ws.base, 'ran'))).toBe(false);
  });
});
