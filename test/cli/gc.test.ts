import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Ran, Workspace } from '../support/workspace.ts';

const NOW = ['--older', '0s', '--ledger-older', '0s'];

/** `writ gc`: issue "From one repo to two hundred", item 5. Never an approval or a revocation. */
describe('gc', () => {
  let ws: Workspace;
  beforeEach(() => {
    ws = new Workspace();
    ws.govern();
  });
  afterEach(() => ws.remove());

  const gc = (...more: readonly string[]): Ran => ws.run(['gc', ...NOW, '--format', 'json', ...more]);
  const told = (
    ran: Ran,
  ): { spawns: string[]; authorship: string[]; ledger: { rows: number; segments: { file: string }[] } } => {
    if (ran.exit !== 0) throw new Error(`exit ${ran.exit}: ${ran.stderr}`);
    return JSON.parse(ran.stdout);
  };
  const picture = (folder: string): readonly string[] => {
    const dir = join(ws.root, 'policies', folder);
    if (!existsSync(dir)) return [];
    return readdirSync(dir)
      .sort()
      .map(
        (name) =>
          `${name} ${createHash('sha256')
            .update(readFileSync(join(dir, name)))
            .digest('hex')}`,
      );
  };
  const child = async (name: string, role = 'specialist'): Promise<void> => {
    ws.key(name);
    ws.must('orch', ['spawn', name, '--role', role, '--pub', `${ws.key(name)}.pub`, '--expires', '1s']);
    await pause(1_100);
  };

  it('removes spawns that ran out, and no other', async () => {
    await child('brief');
    const done = told(gc());
    expect(done.spawns).toEqual([expect.stringContaining('policies/spawns/brief')]);
    expect(picture('spawns').map((one) => one.split('.')[0])).toEqual(['worker']);
    expect(told(gc()).spawns).toEqual([]);
    // Within the grace nothing is old.
    await child('again');
    expect(told(ws.run(['gc', '--format', 'json'])).spawns).toEqual([]);
  });

  it('keeps a record while something signed with its key is here', async () => {
    ws.key('brief');
    ws.must('orch', ['spawn', 'brief', '--role', 'specialist', '--pub', `${ws.key('brief')}.pub`, '--expires', '8s']);
    ws.must('brief', ['write', 'notes.md', '--class', 'memory'], { input: 'A note.\n' });
    ws.must('brief', ['post', 'agent-board.jsonl', '--kind', 'observation'], { input: 'seen\n' });
    await pause(8_100);
    expect(told(gc())).toMatchObject({ spawns: [], authorship: [] });
    unlinkSync(join(ws.root, 'notes.md'));
    rmSync(join(ws.root, 'notes.md.manifest.yaml'), { force: true });
    // The proof goes, the record stays for the line on the board.
    expect(told(gc())).toMatchObject({ spawns: [], authorship: [expect.stringContaining('authorship/')] });
    unlinkSync(join(ws.root, 'agent-board.jsonl'));
    expect(told(gc()).spawns).toHaveLength(1);
  });

  it('authorship goes with its text, and with bytes that a later proof has replaced', () => {
    const write = (text: string): string =>
      ws.must('spec', ['write', 'memory/n.md', '--class', 'memory'], { input: text });
    write('one\n');
    write('two\n');
    expect(picture('authorship')).toHaveLength(2);
    expect(told(gc('--dry-run')).authorship).toHaveLength(1);
    expect(picture('authorship')).toHaveLength(2);
    expect(told(gc()).authorship).toHaveLength(1);
    expect(ws.verdict('memory/n.md').writer?.principal).toBe('spec');
    // Somebody else's bytes there: the last proof stays, the text may come back.
    ws.put('memory/n.md', 'stranger\n');
    expect(told(gc()).authorship).toEqual([]);
    rmSync(join(ws.root, 'memory'), { recursive: true });
    expect(told(gc()).authorship).toHaveLength(1);
    expect(picture('authorship')).toEqual([]);
  });

  it('a text that is only in the git index is not gone', () => {
    ws.git('init', '-q', '.');
    ws.must('spec', ['write', 'memory/n.md', '--class', 'memory'], { input: 'x\n' });
    ws.git('add', '-A');
    rmSync(join(ws.root, 'memory'), { recursive: true });
    expect(told(gc()).authorship).toEqual([]);
    ws.git('add', '-A');
    expect(told(gc()).authorship).toHaveLength(1);
  });

  it('never an approval or a revocation, whatever they speak of', () => {
    ws.must('orch', ['write', 'BOOT.md', '--class', 'policy'], { input: 'Ask first.\n' });
    ws.must('lead', ['approve', 'BOOT.md', '--yes']);
    ws.must('orch', ['write', 'NEXT_A.md', '--class', 'guidance'], { input: 'Hint.\n' });
    ws.must('f13', ['revoke', 'NEXT_A.md', '--reason', 'wrong', '--yes']);
    ws.must('f13', ['revoke', '--spawn', 'worker', '--reason', 'done', '--yes']);
    ws.run(['load', '--format', 'none']);
    for (const name of ['BOOT.md', 'NEXT_A.md']) rmSync(join(ws.root, name), { force: true });
    const before = [picture('approvals'), picture('revocations')];
    expect(before.map((one) => one.length)).toEqual([1, 2]);
    told(gc());
    expect([picture('approvals'), picture('revocations')]).toEqual(before);
    // What the approval names still has its author: it says that it was not the approver.
    expect(picture('authorship').length).toBeGreaterThan(0);
    const ranks = ws.check().findings.map((one) => one.code);
    expect(ranks).toContain('binding-missing');
  });

  it('an approval under the name of an authorship proof is left where it lies', () => {
    ws.put('AGENTS.md', '# A\n');
    ws.must('f13', ['approve', 'AGENTS.md', '--class', 'policy', '--yes']);
    const dir = join(ws.root, 'policies/approvals');
    const bytes = readFileSync(join(dir, readdirSync(dir)[0] ?? ''));
    ws.put('policies/authorship/x.dsse.json', bytes);
    unlinkSync(join(ws.root, 'AGENTS.md'));
    told(gc());
    expect(ws.has('policies/authorship/x.dsse.json')).toBe(true);
  });

  it('does nothing where nobody is proven, or something could not be looked at', async () => {
    await child('brief');
    ws.put('AGENTS.md', 'x'.repeat(1_100_000));
    expect(gc().exit).toBe(4);
    unlinkSync(join(ws.root, 'AGENTS.md'));
    const constitution = ws.read('policies/constitution.md');
    ws.put('policies/constitution.md', 'Obey.\n');
    expect([gc().exit, gc().stderr]).toEqual([1, expect.stringContaining('policy-altered')]);
    expect(ws.has('policies/spawns/brief.dsse.json')).toBe(true);
    ws.put('policies/constitution.md', constitution);
    expect(told(gc()).spawns).toHaveLength(1);
  });

  describe('the ledger', () => {
    const archive = (): string => join(ws.env.HOME ?? '', '.local/state/writ/archive');
    const load = (): void => {
      ws.run(['load', '--format', 'none']);
    };
    beforeEach(() => {
      ws.put('AGENTS.md', '# A\n');
      for (let boot = 0; boot < 3; boot += 1) load();
    });

    it('old rows are archived with their head, and log verify stands across', () => {
      const early = ws.run(['log', '--head']).stdout.trim();
      const rows = JSON.parse(ws.run(['log', '--format', 'json']).stdout) as { hash: string }[];
      const whole = ws.run(['log', '--format', 'ndjson']).stdout;
      const done = told(gc());
      expect(done.ledger.rows).toBe(rows.length - 1);
      expect(JSON.parse(ws.run(['log', '--format', 'json']).stdout)).toHaveLength(1);
      expect(ws.run(['log', '--format', 'ndjson', '--archived']).stdout).toBe(whole);
      expect(ws.run(['log', 'verify']).stdout).toContain(`${rows.length} rows, whole; head ${early}`);
      for (const { hash } of rows) expect(ws.run(['log', 'verify', '--head', hash]).exit).toBe(0);
      expect(ws.run(['log', 'verify', '--head', 'f'.repeat(64)]).exit).toBe(1);
      load();
      expect(told(gc()).ledger.rows).toBeGreaterThan(0);
      expect(readdirSync(archive()).filter((name) => name.endsWith('.gz'))).toHaveLength(2);
      expect(ws.run(['log', 'verify', '--head', early]).exit).toBe(0);
      expect(ws.check().exit).toBe(0);
      expect(ws.run(['doctor']).stdout).not.toContain('does not stand');
      expect(told(gc()).ledger).toEqual({ rows: 0, segments: [] });
    });

    it('an archive that is gone, changed or cut is never whole', () => {
      const [segment] = told(gc()).ledger.segments;
      const file = join(archive(), segment?.file ?? '');
      const bytes = readFileSync(file);
      const fails = (why: string): void => {
        const ran = ws.run(['log', 'verify']);
        expect([ran.exit, ran.stderr]).toEqual([1, expect.stringContaining(why)]);
        expect(ws.run(['log', '--format', 'ndjson', '--archived']).exit).toBe(4);
      };
      unlinkSync(file);
      fails('cannot be read');
      writeFileSync(file, bytes.subarray(0, bytes.length - 4));
      fails('not the file that was archived');
      writeFileSync(file, bytes);
      expect(ws.run(['log', 'verify']).exit).toBe(0);
      expect(ws.run(['log', 'verify', '--archive', ws.base]).exit).toBe(1);
    });

    it('a dry run and a boot without age move nothing', () => {
      expect(told(gc('--dry-run')).ledger.rows).toBeGreaterThan(0);
      expect(existsSync(archive())).toBe(false);
      expect(told(ws.run(['gc', '--format', 'json'])).ledger.rows).toBe(0);
    });
  });
});
