import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { parsePolicyFile } from '../src/policy/policy-file.ts';
import { newKeyPair } from '../src/sign/new-key.ts';
import { Workspace } from './support/workspace.ts';

const repo = join(import.meta.dirname, '..');
const pages = ['README.md', ...readdirSync(join(repo, 'docs')).map((name) => `docs/${name}`)].sort();
const hasKeygen = spawnSync('ssh-keygen', ['-?']).error === undefined;
const opened: Workspace[] = [];
afterEach(() => {
  for (const one of opened.splice(0)) one.remove();
});

interface Block {
  readonly info: string;
  readonly line: number;
  readonly text: string;
}

function blocksOf(page: string): readonly Block[] {
  const text = readFileSync(join(repo, page), 'utf8');
  return [...text.matchAll(/^```([^\n`]*)\n([\s\S]*?)^```$/gm)].map((match) => ({
    info: match[1] ?? '',
    line: text.slice(0, match.index).split('\n').length,
    text: match[2] ?? '',
  }));
}

/** All `sh test` blocks of a page as one script: each line has to end in 0, or in N where it says `# exits N`. */
function scriptOf(page: string): string {
  const lines = blocksOf(page)
    .filter((block) => block.info === 'sh test')
    .flatMap((block) =>
      block.text
        .trimEnd()
        .split('\n')
        .map((line, index) => ({ line, at: block.line + index + 1 })),
    );
  return lines
    .map(({ line, at }) => {
      const code = Number(/# exits (\d)$/.exec(line)?.[1] ?? 0);
      return `${line}\ncode=$?; [ $code -eq ${code} ] || { echo "${page}:${at} ended in $code, not ${code}" >&2; exit 99; }`;
    })
    .join('\n');
}

/** A repo somebody has: git, an AGENTS.md with a link to it, an SSH key, `writ` on the path. */
function scratch(): Workspace {
  const space = new Workspace({ git: true });
  opened.push(space);
  const bin = join(space.base, 'bin');
  const ssh = join(space.base, 'home', '.ssh');
  for (const folder of [bin, ssh, join(space.base, 'tmp')]) mkdirSync(folder);
  writeFileSync(join(bin, 'writ'), `#!/bin/sh\nexec "${process.execPath}" "${join(repo, 'dist', 'writ.cjs')}" "$@"\n`);
  chmodSync(join(bin, 'writ'), 0o755);
  const pair = newKeyPair('f13');
  writeFileSync(join(ssh, 'id_ed25519'), pair.privateKey, { mode: 0o600 });
  writeFileSync(join(ssh, 'id_ed25519.pub'), `${pair.publicKey.line} f13\n`);
  space.put('AGENTS.md', '# Rules\n\n- Run the tests before you push.\n');
  symlinkSync('AGENTS.md', join(space.root, 'CLAUDE.md'));
  return space;
}

describe('the commands of the documentation', () => {
  const withCommands = pages.filter((page) => scriptOf(page) !== '');

  it('are there to be run', () => {
    expect(withCommands).toContain('README.md');
  });

  it.skipIf(!hasKeygen).each(withCommands)('%s runs as it stands', { timeout: 120_000 }, (page) => {
    const space = scratch();
    const done = spawnSync('sh', ['-c', scriptOf(page)], {
      cwd: space.root,
      encoding: 'utf8',
      env: {
        ...space.env,
        PATH: `${join(space.base, 'bin')}:${space.env.PATH}`,
        TMPDIR: join(space.base, 'tmp'),
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_AUTHOR_NAME: 'dev',
        GIT_AUTHOR_EMAIL: 'dev@example.test',
        GIT_COMMITTER_NAME: 'dev',
        GIT_COMMITTER_EMAIL: 'dev@example.test',
      },
    });
    expect(done.status === 0 ? '' : `${done.stdout}\n${done.stderr}`).toBe('');
  });

  it.each(pages)('%s marks every shell block as run or not run', (page) => {
    const unmarked = blocksOf(page).filter((block) => /^(?:sh|bash|shell)?$/.test(block.info));
    expect(unmarked.map((block) => `${page}:${block.line}`)).toEqual([]);
  });
});

describe('the documentation', () => {
  it('holds the pages made from the source, up to date', { timeout: 60_000 }, () => {
    const done = spawnSync(process.execPath, [join(repo, 'src', 'build', 'docs.mjs'), '--check'], { encoding: 'utf8' });
    expect(done.stderr).toBe('');
    expect(done.status).toBe(0);
  });

  it('shows a policy.yaml that is one', async () => {
    const shown = blocksOf('docs/formats.md').find(
      (block) => block.info === 'yaml' && /^principals:/m.test(block.text),
    );
    expect(await parsePolicyFile(shown?.text ?? '')).toHaveProperty('policy');
  });

  it('links only to what is there', () => {
    const broken = pages.flatMap((page) => {
      const text = readFileSync(join(repo, page), 'utf8');
      return [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
        .map((match) => match[1] ?? '')
        .filter((link) => !/^https?:/.test(link))
        .filter((link) => !pages.includes(join(page, '..', link)))
        .map((link) => `${page}: ${link}`);
    });
    expect(broken).toEqual([]);
  });

  it('names no command that does not exist', () => {
    const known = new Set(
      [...readFileSync(join(repo, 'docs', 'commands.md'), 'utf8').matchAll(/^## writ ([a-z]+)/gm)].map((one) => one[1]),
    );
    const wrong = pages.flatMap((page) =>
      blocksOf(page)
        .filter((block) => /^(?:sh test|console)$/.test(block.info))
        .flatMap((block) => [...block.text.matchAll(/^(?:\$ )?writ ([a-z]+)/gm)].map((one) => one[1]))
        .filter((word) => !known.has(word))
        .map((word) => `${page}: writ ${word}`),
    );
    expect(wrong).toEqual([]);
  });
});
