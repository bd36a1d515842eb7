import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newKeyPair } from '../../src/sign/new-key.ts';

const COMMAND = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'dist', 'writ.cjs');

export interface Ran {
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Finding {
  readonly code: string;
  readonly effect: string;
  readonly message: string;
  readonly line: number | null;
  readonly cure: string;
  readonly file?: string;
  readonly relief?: string;
}

export interface Artifact {
  readonly path: string;
  readonly line: number | null;
  readonly id: string | null;
  readonly declaredClass: string | null;
  readonly class: string;
  readonly rank: string;
  readonly disposition: string;
  readonly writer: { readonly principal: string; readonly role: string; readonly via: string } | null;
  readonly approvedBy: readonly string[];
  readonly findings: readonly Finding[];
}

export interface Verdicts {
  readonly workspace: { readonly id: string | null; readonly root: string; readonly policyVersion: number | null };
  readonly summary: Readonly<Record<string, number>>;
  readonly artifacts: readonly Artifact[];
  readonly findings: readonly Finding[];
  readonly quarantine?: readonly { readonly path: string; readonly id: string | null; readonly moved: boolean }[];
}

/** A throw-away workspace with a home of its own, driven through the built command like a person would. */
export class Workspace {
  readonly base: string;
  readonly root: string;
  readonly env: Record<string, string>;

  constructor(options: { readonly git?: boolean } = {}) {
    this.base = mkdtempSync(join(tmpdir(), 'writ-'));
    this.root = join(this.base, 'ws');
    mkdirSync(this.root);
    mkdirSync(join(this.base, 'home'));
    this.env = { PATH: process.env.PATH ?? '', HOME: join(this.base, 'home'), LC_ALL: 'C.UTF-8', NO_COLOR: '1' };
    if (options.git) this.git('init', '-q', '-b', 'main', '.');
  }

  /** Runs the command in the workspace. `input` goes to stdin. */
  run(
    args: readonly string[],
    options: {
      readonly input?: string | Buffer;
      readonly env?: Readonly<Record<string, string>>;
      readonly cwd?: string;
    } = {},
  ): Ran {
    const done = spawnSync(process.execPath, [COMMAND, ...args], {
      cwd: options.cwd ?? this.root,
      env: { ...this.env, ...options.env },
      input: options.input ?? '',
      encoding: 'utf8',
      maxBuffer: 256 * 1024 * 1024,
    });
    return { exit: done.status ?? -1, stdout: done.stdout, stderr: done.stderr };
  }

  /** Runs the command as a user without rights (uid 65534 where the tests run as root), who owns the whole workspace and its home. */
  unprivileged(args: readonly string[]): Ran {
    const root = process.getuid?.() === 0;
    if (root) spawnSync('chown', ['-R', '65534:65534', this.base]);
    const done = spawnSync(process.execPath, [COMMAND, ...args], {
      cwd: this.root,
      env: this.env,
      encoding: 'utf8',
      maxBuffer: 256 * 1024 * 1024,
      ...(root ? { uid: 65_534, gid: 65_534 } : {}),
    });
    return { exit: done.status ?? -1, stdout: done.stdout, stderr: done.stderr };
  }

  /** Runs a line of shell in the workspace; `$WRIT` is the command. For what only a shell can do: pipes and limits. */
  shell(line: string): Ran {
    const done = spawnSync('sh', ['-c', line], {
      cwd: this.root,
      env: { ...this.env, WRIT: `"${process.execPath}" "${COMMAND}"` },
      encoding: 'utf8',
      maxBuffer: 256 * 1024 * 1024,
    });
    return { exit: done.status ?? -1, stdout: done.stdout, stderr: done.stderr };
  }

  /** As somebody: the key made by `key(name)`. */
  as(name: string, args: readonly string[], options: { readonly input?: string | Buffer } = {}): Ran {
    return this.run(args, { ...options, env: { WRIT_AS: name, WRIT_KEY: this.key(name) } });
  }

  /** Like `as`, and fails loudly where the command did not end in 0. @returns stdout. */
  must(name: string, args: readonly string[], options: { readonly input?: string | Buffer } = {}): string {
    const ran = this.as(name, args, options);
    if (ran.exit !== 0)
      throw new Error(`writ ${args.join(' ')} as ${name}: exit ${ran.exit}\n${ran.stdout}\n${ran.stderr}`);
    return ran.stdout.trim();
  }

  /** The private key file of a name, made on first use; the public half lies beside it. */
  key(name: string): string {
    const file = join(this.base, `${name}.key`);
    if (!existsSync(file)) {
      const pair = newKeyPair(name);
      writeFileSync(file, pair.privateKey, { mode: 0o600 });
      writeFileSync(`${file}.pub`, `${pair.publicKey.line} ${name}\n`);
    }
    return file;
  }

  /** Sets up: f13 sovereign, lead approver, orch orchestrator, spec specialist (principals), worker spawned by orch. */
  govern(id = 'example.test/acme/app'): this {
    this.must('f13', ['init', '--workspace', id, '--yes']);
    for (const [name, role] of [
      ['lead', 'approver'],
      ['orch', 'orchestrator'],
      ['spec', 'specialist'],
    ] as const) {
      this.key(name);
      this.must('f13', ['trust', 'add', name, '--role', role, '--pub', `${this.key(name)}.pub`]);
    }
    this.key('worker');
    this.must('orch', ['spawn', 'worker', '--role', 'specialist', '--pub', `${this.key('worker')}.pub`]);
    return this;
  }

  put(path: string, content: string | Buffer): string {
    const file = join(this.root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    return file;
  }

  read(path: string): string {
    return readFileSync(join(this.root, path), 'utf8');
  }

  has(path: string): boolean {
    return existsSync(join(this.root, path));
  }

  /** Verdicts of `check --format json`; the exit code beside them. */
  check(...paths: readonly string[]): Verdicts & { readonly exit: number } {
    const ran = this.run(['check', '--format', 'json', ...paths]);
    if (!ran.stdout.startsWith('{')) throw new Error(`check: exit ${ran.exit}\n${ran.stderr}`);
    return { ...(JSON.parse(ran.stdout) as Verdicts), exit: ran.exit };
  }

  /** The verdict on one path; throws where there is not exactly one. */
  verdict(path: string, line: number | null = null): Artifact {
    const found = this.check().artifacts.filter((one) => one.path === path && one.line === line);
    if (found.length !== 1 || !found[0]) throw new Error(`${path}: ${found.length} verdicts`);
    return found[0];
  }

  git(...args: readonly string[]): string {
    const done = spawnSync(
      'git',
      ['-c', 'user.email=dev@example.test', '-c', 'user.name=dev', '-c', 'commit.gpgsign=false', ...args],
      {
        cwd: this.root,
        env: { ...this.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
        encoding: 'utf8',
      },
    );
    if (done.status !== 0) throw new Error(`git ${args.join(' ')}: ${done.stderr}`);
    return done.stdout.trim();
  }

  /** A second workspace with everything of this one: files, keys, pins and state. */
  copy(): Workspace {
    const twin = new Workspace();
    cpSync(this.base, twin.base, { recursive: true, verbatimSymlinks: true });
    return twin;
  }

  remove(): void {
    rmSync(this.base, { recursive: true, force: true });
  }
}

/** The codes of a verdict, for short assertions. */
export function codes(artifact: Artifact): readonly string[] {
  return artifact.findings.map((one) => one.code);
}
