import { parseAdvisory } from './advisory.ts';
import { checkForm } from './check-form.ts';
import { crossCheck } from './cross-check.ts';
import { at, type ContractError, type Profile, profileOf, type State, stateOf } from './envelope.ts';
import type { Input } from './input.ts';
import { legacyTokens } from './legacy-tokens.ts';
import { repairMessage } from './repair-message.ts';

export interface ValidateOptions {
  /** Null: the envelope's own. */
  readonly profile: Profile | null;
  readonly input: Input | null;
  /** Stops after the form layer. */
  readonly formOnly: boolean;
  /** Whether a request of that id waits for a decision. Asked only where the envelope names one. */
  readonly isPending: (approvalId: string) => Promise<boolean>;
}

/** What an envelope is: the one verdict that every command and hook speaks of. */
export interface Validated {
  readonly ok: boolean;
  readonly profile: Profile;
  /** Null where the form does not hold far enough to say. */
  readonly state: State | null;
  readonly errors: readonly ContractError[];
  readonly warnings: readonly ContractError[];
  readonly legacyTokens: readonly string[];
  readonly repairMessage: string;
}

/** Validates an envelope: the form first, and where it holds what it is compared with. */
export async function validate(envelope: unknown, options: ValidateOptions): Promise<Validated> {
  const profile = profileOf(envelope, options.profile);
  const form = checkForm(envelope, profile);
  const state = stateOf(envelope, profile);
  const warnings: ContractError[] = [];
  let errors = form;
  if (form.length === 0 && state !== null && !options.formOnly) {
    const id = at(envelope, 'approval_request.approval_id');
    const named = id === undefined || id === null || id === '' ? null : String(id);
    const crossed = crossCheck(envelope, {
      profile,
      state,
      input: options.input,
      approvalPending: named === null || state !== 'APPROVAL_REQUEST' ? null : await options.isPending(named),
    });
    errors = crossed.errors;
    warnings.push(...crossed.warnings);
  }
  if (!options.formOnly) warnings.push(...parseAdvisory(envelope).warnings);
  return {
    ok: errors.length === 0,
    profile,
    state,
    errors,
    warnings,
    legacyTokens: legacyTokens(errors),
    repairMessage: repairMessage(profile),
  };
}
