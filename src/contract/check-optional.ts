import { escapeText } from '../model/escaped.ts';
import { type ContractError, isObject, isText, own, strip } from './envelope.ts';
import { error, shown } from './error.ts';
import { SEVERITIES, WORK_PHASES } from './vocabulary.ts';

const VERIFICATION = 'evidence_report.verification';

/** A declared verification.type owes its evidence, whatever the state: a word the list does not know owes any one of the three kinds. */
export function checkVerificationType(verification: unknown): readonly ContractError[] {
  const raw = own(verification, 'type');
  if (raw === undefined || raw === null) return [];
  const type = strip(typeof raw === 'string' ? raw : JSON.stringify(raw))
    .toLowerCase()
    .replace(/[\s_-]+/g, '_')
    .replace(/^_+|_+$/g, '');
  if (type === '') return [];
  const has = {
    command: isText(own(verification, 'command')),
    reviewed: isText(own(verification, 'reviewed')),
    requires_human: isTruthy(own(verification, 'requires_human')),
  };
  const owe = (key: keyof typeof has): readonly ContractError[] =>
    has[key] ? [] : [error('VERIFICATION_SHAPE', `${VERIFICATION}.${key}`, `the type ${shown(raw)} owes ${key}`)];
  switch (type) {
    case 'none':
      return [];
    case 'command':
    case 'code':
      return owe('command');
    case 'semantic':
      return owe('requires_human');
    case 'self_review':
      return owe('reviewed');
    default:
      return has.command || has.reviewed || has.requires_human
        ? []
        : [
            error(
              'VERIFICATION_SHAPE',
              VERIFICATION,
              `the type ${shown(raw)} owes one of command, reviewed or requires_human; where nothing was verified the type is none`,
            ),
          ];
  }
}

/** failure_report: nothing where it is absent or null. */
export function checkFailureReport(envelope: unknown): readonly ContractError[] {
  const report = own(envelope, 'failure_report');
  if (report === undefined || report === null) return [];
  const fault = (field: string, detail: string): ContractError => error('FAILURE_REPORT_SHAPE', field, detail);
  if (!isObject(report))
    return [fault('failure_report', 'failure_report is an object with attempted, symptom and evidence')];
  const errors = ['attempted', 'symptom']
    .filter((key) => !isText(own(report, key)))
    .map((key) => fault(`failure_report.${key}`, `${key} is a text that says it`));
  const evidence = own(report, 'evidence');
  if (!(Array.isArray(evidence) && evidence.some(isText)))
    errors.push(fault('failure_report.evidence', 'evidence is a list with at least one excerpt of what was seen'));
  const severity = own(report, 'severity');
  if (severity !== undefined && severity !== null) {
    const word = typeof severity === 'string' ? strip(severity).toLowerCase() : '';
    if (!SEVERITIES.includes(word))
      errors.push(fault('failure_report.severity', `severity is one of ${SEVERITIES.join(', ')}`));
  }
  return errors;
}

/** work_phase: nothing where it is absent or null. */
export function checkWorkPhase(envelope: unknown): readonly ContractError[] {
  const phase = own(envelope, 'work_phase');
  if (phase === undefined || phase === null) return [];
  if (typeof phase === 'string' && WORK_PHASES.includes(strip(phase).toLowerCase())) return [];
  return [error('WORK_PHASE_SHAPE', 'work_phase', `${shown(phase)} is none of ${WORK_PHASES.join(', ')}`)];
}

/** Objects among files_checked are {path, commit}, the commit by its hex name. A bare path is always right. */
export function checkFileReferences(envelope: unknown): readonly ContractError[] {
  const evidence = own(envelope, 'evidence_report');
  return ['files_checked', 'FILES_CHECKED'].flatMap((key) => {
    const entries = own(evidence, key);
    if (!Array.isArray(entries)) return [];
    return entries.flatMap((entry, index) => checkFileReference(entry, `evidence_report.${key}[${index}]`));
  });
}

function checkFileReference(entry: unknown, at: string): readonly ContractError[] {
  if (!isObject(entry)) return [];
  const fault = (key: string, detail: string): ContractError => error('FILE_REFERENCE_SHAPE', `${at}.${key}`, detail);
  const errors: ContractError[] = [];
  if (!isText(own(entry, 'path'))) errors.push(fault('path', 'a reference names its path'));
  const commit = own(entry, 'commit');
  // A branch or HEAD moves, and what moves dates nothing. Whether the commit exists is not asked here.
  if (!(isText(commit) && /^[0-9a-f]{7,64}$/.test(strip(commit).toLowerCase())))
    errors.push(fault('commit', `a reference names its commit by 7 to 64 hex digits, not ${shown(commit)}`));
  for (const key of Object.keys(entry))
    if (key !== 'path' && key !== 'commit')
      errors.push(fault(escapeText(key, 120), 'a reference holds path and commit, nothing else'));
  return errors;
}

/** Truth as the recorded verdicts have it: an empty list or object says no. */
function isTruthy(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return isObject(value) ? Object.keys(value).length > 0 : Boolean(value);
}
