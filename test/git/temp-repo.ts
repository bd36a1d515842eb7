import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { findRepository, type Repository } from '../../src/git/repository.ts';

/** A throw-away repository with an SSH signing key of its own. */
export interface TempRepo {
  readonly base: string;
  readonly folder: string;
  /** Runs git as the user would, with the repository's own config. */
  git(...args: readonly string[]): string;
  write(path: string, text: string): void;
  /** Commits everything, signed or not; returns the id. */
  commit(message: string, signed?: boolean): string;
  found(): Repository;
  /** Whether anything hostile ran since the last call. */
  sprung(): boolean;
  /** A program that leaves a mark when it runs. */
  readonly canary: string;
  remove(): void;
}

/** Clean environment for the git that builds fixtures. */
export const FIXTURE_ENV = {
  PATH: process.env.PATH ?? '',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
};

export function tempRepo(...init: readonly string[]): TempRepo {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'writ-test-git-')));
  const folder = join(base, 'repo');
  const mark = join(base, 'sprung');
  const canary = join(base, 'canary.sh');
  writeFileSync(canary, `#!/bin/sh\necho "$0 $*" >> ${mark}\nexit 0\n`, { mode: 0o755 });
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', join(base, 'key')]);
  let clock = 1_700_000_000;
  const git = (...args: readonly string[]): string => {
    clock += 60;
    const date = `${clock} +0000`;
    const env = { ...FIXTURE_ENV, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date };
    const safe = [
      '-c',
      'core.fsmonitor=false',
      '-c',
      'core.hooksPath=/dev/null',
      '-c',
      'protocol.file.allow=always',
      '-c',
      'commit.gpgSign=false',
    ];
    const keys = [
      '-c',
      'gpg.format=ssh',
      '-c',
      'gpg.ssh.program=ssh-keygen',
      '-c',
      `user.signingkey=${join(base, 'key')}`,
    ];
    const who = ['-c', 'user.name=Somebody Else', '-c', 'user.email=else@example.com'];
    return execFileSync('git', ['-C', folder, ...safe, ...keys, ...who, ...args], {
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  };
  execFileSync('git', ['init', '-q', '-b', 'main', ...init, folder], { env: FIXTURE_ENV });
  return {
    base,
    folder,
    canary,
    git,
    write(path, text) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    },
    commit(message, signed = false) {
      git('add', '-A');
      git('commit', '-q', '--allow-empty', signed ? '-S' : '--no-gpg-sign', '-m', message);
      return git('rev-parse', 'HEAD');
    },
    found() {
      const repo = findRepository(folder);
      if (repo === null) throw new Error('fixture: no repository');
      return repo;
    },
    sprung() {
      const ran = existsSync(mark);
      rmSync(mark, { force: true });
      return ran;
    },
    remove: () => rmSync(base, { recursive: true, force: true }),
  };
}

/** Whether ssh-keygen accepts the signature over exactly these bytes, in git's namespace. */
export function isSignedBy(base: string, signature: string, payload: Uint8Array): boolean {
  const signatureFile = join(base, 'check.sig');
  writeFileSync(signatureFile, signature);
  try {
    const args = ['-Y', 'check-novalidate', '-n', 'git', '-s', signatureFile];
    execFileSync('ssh-keygen', args, { input: Buffer.from(payload), stdio: ['pipe', 'ignore', 'ignore'] });
    return true;
  } catch {
    return false;
  }
}
