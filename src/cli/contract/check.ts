import { checkForm } from '../../contract/check-form.ts';
import { type ContractError, isObject, type JsonObject, PROFILES, profileOf } from '../../contract/envelope.ts';
import { error } from '../../contract/error.ts';
import { buildInput, type Input, readBrief, readInput } from '../../contract/input.ts';
import { legacyTokens } from '../../contract/legacy-tokens.ts';
import { parseFence } from '../../contract/parse-fence.ts';
import { MAX_BYTES, MAX_DEPTH, readJson } from '../../contract/read-json.ts';
import { repairMessage } from '../../contract/repair-message.ts';
import { checkPayload, mergeUpdate } from '../../contract/update-contracts.ts';
import { type Validated, validate } from '../../contract/validate.ts';
import { escapePath, escapeText } from '../../model/escaped.ts';
import { parseStrictJson } from '../../sign/strict-json.ts';
import { type Call, EXIT, type Exit, flag, oneOf, RefusedError, text, UsageError } from '../command.ts';
import { tell } from '../output.ts';
import { printJson } from '../print-json.ts';
import { givenRoot } from '../workspace.ts';
import { readJudged, readText } from './read-file.ts';
import { tellRefusal } from './tell-refusal.ts';

/** Largest output of an agent that is searched for a fence, bytes. */
const MAX_OUTPUT = 16_777_216;

/** `writ contract validate`: the form of an envelope, and what it is compared with. */
export async function validateFile(call: Call): Promise<Exit> {
  givenRoot(call);
  const [file = null] = call.positionals;
  const profile = oneOf(call, 'profile', PROFILES);
  const input = await inputFrom(call);
  const given = await readJudged(file, MAX_BYTES);
  const read = given === null ? { fault: 'it is not UTF-8' } : readJson(given);
  const envelope = 'fault' in read ? undefined : read.value;
  const verdict = await validate(envelope, {
    profile,
    input,
    formOnly: flag(call, 'form-only'),
    isPending: (id) => waits(call, id),
  });
  const warnings: ContractError[] = 'fault' in read ? [error('NOT_JSON', 'agent_contract_handoff', read.fault)] : [];
  if ('duplicates' in read && read.duplicates)
    warnings.push(error('DUPLICATE_KEY', 'agent_contract_handoff', 'a key comes twice; its last value was judged'));
  await printJson(shownVerdict(verdict, warnings));
  await tellRefusal(verdict.ok ? [] : verdict.errors);
  return verdict.ok ? EXIT.ok : EXIT.refused;
}

/** Whether a request of that id waits for a decision, by the state of this machine; opened only where an envelope names one. */
async function waits(call: Call, id: string): Promise<boolean> {
  const [{ reading }, { isPending }] = await Promise.all([import('./place.ts'), import('../../contract/finalize.ts')]);
  return reading(call, async ({ workspace, place, contracts }) =>
    contracts === null ? false : isPending(contracts, place, id, workspace.now),
  );
}

/** A verdict as commands print it. */
export function shownVerdict(verdict: Validated, more: readonly ContractError[]): JsonObject {
  return {
    ok: verdict.ok,
    profile: verdict.profile,
    state: verdict.state,
    errors: verdict.errors,
    warnings: [...more, ...verdict.warnings],
    legacyTokens: verdict.legacyTokens,
    repair_message: verdict.repairMessage,
  };
}

/** The input envelope of `--input`; null without it. */
export async function inputFrom(call: Call): Promise<Input | null> {
  const file = text(call, 'input');
  if (file === null) return null;
  const given = await readText(file, MAX_BYTES);
  const read = given === null ? { fault: 'it is not UTF-8' } : readJson(given);
  const input = 'fault' in read ? read : readInput(read.value);
  if ('fault' in input) throw new UsageError(`--input ${escapePath(file)}: ${input.fault}`);
  return input;
}

/** `writ contract input`: the envelope an agent is given before its turn, from what its orchestrator says. */
export async function makeInput(call: Call): Promise<Exit> {
  givenRoot(call);
  const [file = null] = call.positionals;
  const given = await readText(file, MAX_BYTES);
  const read = given === null ? { fault: 'it is not UTF-8' } : parseStrictJson(given, { maxDepth: MAX_DEPTH });
  const brief = 'fault' in read ? read : readBrief(read.value);
  if ('fault' in brief) throw new UsageError(brief.fault);
  await printJson(buildInput(brief));
  return EXIT.ok;
}

/** `writ contract parse-fence`: the envelope in an agent's output, and the form of it. */
export async function parseFenceIn(call: Call): Promise<Exit> {
  givenRoot(call);
  const [file = null] = call.positionals;
  const wanted = oneOf(call, 'profile', PROFILES);
  const output = await readJudged(file, MAX_OUTPUT);
  const parsed = output === null ? null : parseFence(output, wanted);
  const profile = profileOf(parsed, wanted);
  const errors = checkForm(parsed, profile);
  await printJson({
    parsed,
    profile,
    errors,
    legacyTokens: legacyTokens(errors),
    repair_message: repairMessage(profile),
  });
  await tellRefusal(errors);
  return errors.length === 0 ? EXIT.ok : EXIT.refused;
}

/** `writ contract merge`: what a payload of update_contracts makes of a section. */
export async function merge(call: Call): Promise<Exit> {
  givenRoot(call);
  const [current, payload] = [await sectionFrom(call, 'current'), await sectionFrom(call, 'payload')];
  for (const finding of checkPayload(payload, 'payload'))
    await tell(`writ: ${finding.code} at ${escapeText(finding.field, 200)}: ${finding.detail}`);
  const done = mergeUpdate(current, payload);
  if ('conflict' in done)
    throw new RefusedError(
      'FIELD_TYPE',
      `nothing was merged: at ${escapeText(done.conflict.path, 200)} ${done.conflict.detail}`,
    );
  await printJson(done.merged);
  return EXIT.ok;
}

async function sectionFrom(call: Call, name: 'current' | 'payload'): Promise<JsonObject> {
  const file = text(call, name);
  if (file === null) throw new UsageError(`--${name} FILE is needed`);
  const given = await readText(file, MAX_BYTES);
  const read = given === null ? { fault: 'it is not UTF-8' } : readJson(given);
  if ('fault' in read) throw new RefusedError('NOT_JSON', `--${name} ${escapePath(file)}: ${read.fault}`);
  if (!isObject(read.value)) throw new RefusedError('NOT_JSON', `--${name} ${escapePath(file)} holds no JSON object`);
  return read.value;
}
