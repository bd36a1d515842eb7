import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isInside } from '../../files/workspace-root.ts';
import { escapePath } from '../../model/escaped.ts';
import { BEFORE, calledBy, HOOK, hookPlace, hookState, managersOf } from '../../write/git-hook.ts';
import { type Check, fail, ok, type Patient, type Subject, unchecked, warn } from './check.ts';

const INSTALL = 'writ hook install --git';

/** Whether commits are judged, and by which writ. */
export const HOOKS: readonly Subject[] = [{ id: 'hook', run: checkHook }];

function checkHook({ workspace, env }: Patient): readonly Check[] {
  const { repository } = workspace;
  if (repository === null) return [];
  const managers = managersOf(repository);
  if (managers.length > 0)
    return managers.map(({ name, file, calls }) =>
      calls
        ? ok('hook', `${name} calls writ in ${file}.`)
        : warn('hook', `${name} manages the hooks here, and ${file} does not call writ.`, INSTALL),
    );
  const place = hookPlace(repository, env);
  if (place === null)
    return [unchecked('hook', 'git could not say where its hooks lie.', 'git config --get core.hooksPath')];
  const path = join(place.folder, HOOK);
  const told = escapePath(path);
  if (place.outside)
    return [
      warn(
        'hook',
        `core.hooksPath sends git to ${escapePath(place.folder)}, outside this repository.`,
        'Call there: writ hook pre-commit',
      ),
    ];
  const state = hookState(place.folder);
  if (state === 'none') return [warn('hook', 'Commits are not judged: there is no pre-commit hook.', INSTALL)];
  if (state === 'other') return [warn('hook', `${told} is not writ's.`, `${INSTALL} (keeps it, and runs it first)`)];
  const checks: Check[] = [];
  const { node, writ } = calledBy(readFileSync(path, 'utf8'));
  for (const [what, file] of [
    ['node', node],
    ['writ', writ],
  ] as const) {
    if (file === null || !existsSync(file))
      checks.push(
        fail(
          'hook',
          `${told} calls ${what} at ${file === null ? 'no place' : escapePath(file)}, which is gone: every commit is blocked.`,
          INSTALL,
        ),
      );
  }
  if (!isExecutable(path))
    checks.push(fail('hook', `${told} is not executable, so git passes over it.`, `chmod +x ${told}`));
  if (checks.length > 0) return checks;
  const before = join(place.folder, BEFORE);
  const chain = existsSync(before) ? `; ${BEFORE} runs first` : '';
  if (existsSync(before) && !isExecutable(before))
    checks.push(
      warn(
        'hook',
        `${escapePath(before)} is not executable, so the hook from before does not run.`,
        `chmod +x ${escapePath(before)}`,
      ),
    );
  if (writ !== null && isInside(repository.topLevel, writ))
    checks.push(
      warn(
        'hook',
        `The hook calls ${escapePath(writ)}, which lies in this repository: who may write here may change it.`,
        'Install writ outside it, then: writ hook install --git',
      ),
    );
  if (writ !== null && (statSync(writ).mode & 0o022) !== 0)
    checks.push(
      fail(
        'hook',
        `${escapePath(writ)}, which the hook calls, may be written by others than its owner.`,
        `chmod go-w ${escapePath(writ)}`,
      ),
    );
  return checks.length > 0 ? checks : [ok('hook', `${told} calls ${escapePath(writ ?? '')}${chain}.`)];
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return process.platform === 'win32' || (statSync(path).mode & 0o111) !== 0;
  } catch {
    return false;
  }
}
