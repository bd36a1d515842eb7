import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lastCommits, listIndex, listTree, readBlobs } from '../../src/git/batch.ts';
import { ancestors, headCommit, remoteUrl, resolveCommit } from '../../src/git/git.ts';
import { FIXTURE_ENV, type TempRepo, tempRepo } from './temp-repo.ts';

let temp: TempRepo;
let head: string;
let blob: string;

beforeAll(() => {
  temp = tempRepo();
  temp.write('.gitattributes', '*.md filter=evil diff=evil merge=evil\n');
  temp.write('AGENTS.md', 'hello');
  temp.commit('one', true);
  temp.write('AGENTS.md', 'again');
  head = temp.commit('two', true);
  blob = temp.git('rev-parse', 'HEAD:AGENTS.md');
});

afterAll(() => temp.remove());

const reset = (config: string): void => {
  writeFileSync(join(temp.folder, '.git/config'), `[core]\nrepositoryformatversion = 0\nbare = false\n${config}`);
};

async function everything(): Promise<void> {
  const repo = temp.found();
  const { facts } = await lastCommits(repo, head, new Set(['AGENTS.md']));
  expect(facts.get('AGENTS.md')).toMatchObject({ commit: head, blob });
  expect((await listIndex(repo)).map(({ path }) => path)).toEqual(['.gitattributes', 'AGENTS.md']);
  expect((await listTree(repo, head)).length).toBe(2);
  expect((await readBlobs(repo, [blob], 100)).blobs.get(blob)?.toString()).toBe('again');
  expect(await ancestors(repo, [head])).toEqual(new Set([head]));
  expect(await headCommit(repo)).toBe(head);
  await remoteUrl(repo);
}

/** Every query that could start a program, with the whole environment of this process as the user has it. */
const settings: readonly [string, (canary: string) => string][] = [
  ['fsmonitor', (run) => `fsmonitor = ${run}\n`],
  [
    'signature programs',
    (run) =>
      `[log]\nshowSignature = true\n[gpg]\nformat = ssh\nprogram = ${run}\n[gpg "ssh"]\nprogram = ${run}\ndefaultKeyCommand = ${run}\nallowedSignersFile = .git/config\n`,
  ],
  ['diff programs', (run) => `[diff]\nexternal = ${run}\n[diff "evil"]\ncommand = ${run}\ntextconv = ${run}\n`],
  [
    'filters',
    (run) =>
      `[filter "evil"]\nclean = ${run}\nsmudge = ${run}\nprocess = ${run}\nrequired = true\n[merge "evil"]\ndriver = ${run}\n`,
  ],
  [
    'pagers and editors',
    (run) =>
      `pager = ${run}\neditor = ${run}\naskPass = ${run}\n[pager]\nlog = ${run}\nconfig = ${run}\n[sequence]\neditor = ${run}\n`,
  ],
  [
    'aliases of our commands',
    (run) =>
      `[alias]\nlog = !${run}\ncat-file = !${run}\nls-files = !${run}\nrev-parse = !${run}\nfor-each-ref = !${run}\nconfig = !${run}\n`,
  ],
  [
    'transport',
    (run) =>
      `sshCommand = ${run}\ngitProxy = ${run}\n[credential]\nhelper = !${run}\n[protocol "ext"]\nallow = always\n[uploadpack]\npackObjectsHook = ${run}\n[remote "origin"]\nurl = ext::${run}\nuploadpack = ${run}\n`,
  ],
  ['an include', (run) => `[include]\npath = more\n[includeIf "gitdir:**"]\npath = more\n# ${run}\n`],
  ['a work tree elsewhere', () => 'worktree = /\n'],
  ['settings of an own work tree', () => '[extensions]\nworktreeConfig = true\n'],
  ['automatic maintenance', (run) => `hooksPath = ../hooks\n[gc]\nauto = 1\n[maintenance]\nauto = true\n# ${run}\n`],
];

describe('a hostile .git/config', () => {
  it('would run something under plain git (the canary works)', () => {
    reset(`fsmonitor = ${temp.canary}\n`);
    spawnSync('git', ['-C', temp.folder, 'status'], { env: FIXTURE_ENV });
    expect(temp.sprung()).toBe(true);
  });

  it.each(settings)('%s: every query answers and nothing runs', async (_name, config) => {
    mkdirSync(join(temp.folder, 'hooks'), { recursive: true });
    for (const hook of ['post-index-change', 'reference-transaction', 'pre-auto-gc', 'post-checkout']) {
      for (const folder of ['hooks', '.git/hooks']) {
        writeFileSync(join(temp.folder, folder, hook), `#!/bin/sh\nexec ${temp.canary} ${hook}\n`, { mode: 0o755 });
      }
    }
    const inner = `[core]\nfsmonitor = ${temp.canary}\n[diff]\nexternal = ${temp.canary}\n[log]\nshowSignature = true\n[gpg]\nprogram = ${temp.canary}\n`;
    writeFileSync(join(temp.folder, '.git/more'), inner);
    writeFileSync(join(temp.folder, '.git/config.worktree'), inner);
    reset(config(temp.canary));
    await everything();
    expect(await resolveCommit(temp.found(), 'HEAD')).toBe(head);
    expect(temp.sprung()).toBe(false);
  });

  it('an unknown extension or a broken file does not stop the queries that need no refs', async () => {
    for (const config of ['[extensions]\nunknown = 1\n', '[[[[ broken']) {
      writeFileSync(join(temp.folder, '.git/config'), `[core]\nrepositoryformatversion = 1\n${config}`);
      await everything();
      expect(await resolveCommit(temp.found(), 'HEAD')).toBeNull();
    }
    reset('');
  });

  it('a partial clone does not fetch what is missing', async () => {
    reset(
      `[extensions]\npartialClone = origin\n[remote "origin"]\nurl = ext::${temp.canary}\npromisor = true\n[protocol "ext"]\nallow = always\n`,
    );
    const missing = '1'.repeat(40);
    expect((await readBlobs(temp.found(), [missing], 10)).blobs.size).toBe(0);
    expect(await ancestors(temp.found(), [missing])).toEqual(new Set());
    expect(await resolveCommit(temp.found(), missing)).toBeNull();
    expect(temp.sprung()).toBe(false);
    reset('');
  });
});

describe('a hostile environment', () => {
  it('steers nothing', async () => {
    const set: Record<string, string> = {
      GIT_DIR: '/nonexistent',
      GIT_INDEX_FILE: '/nonexistent',
      GIT_OBJECT_DIRECTORY: '/nonexistent',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'core.fsmonitor',
      GIT_CONFIG_VALUE_0: temp.canary,
      GIT_EXTERNAL_DIFF: temp.canary,
      GIT_PAGER: temp.canary,
      GIT_SSH_COMMAND: temp.canary,
      GIT_EXEC_PATH: temp.base,
      GIT_TRACE: join(temp.base, 'trace'),
      GIT_REPLACE_REF_BASE: 'refs/heads/',
    };
    const old = Object.keys(set).map((name) => [name, process.env[name]] as const);
    Object.assign(process.env, set);
    try {
      await everything();
      expect(await resolveCommit(temp.found(), 'HEAD')).toBe(head);
    } finally {
      for (const [name, value] of old) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    }
    expect(temp.sprung()).toBe(false);
    expect(execFileSync('ls', [temp.base], { encoding: 'utf8' })).not.toContain('trace');
  });

  it('a git planted in the workspace or in node_modules/.bin is not git', async () => {
    const planted = [join(temp.folder, 'bin'), join(temp.base, 'node_modules/.bin')];
    for (const folder of planted) {
      mkdirSync(folder, { recursive: true });
      symlinkSync(temp.canary, join(folder, 'git'));
    }
    const old = process.env.PATH;
    process.env.PATH = [...planted, '.', 'bin', '', old].join(':');
    try {
      await everything();
      expect(await resolveCommit(temp.found(), 'HEAD')).toBe(head);
    } finally {
      process.env.PATH = old;
    }
    expect(temp.sprung()).toBe(false);
  });
});
