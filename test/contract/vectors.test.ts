import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkForm } from '../../src/contract/check-form.ts';
import { own, type Profile } from '../../src/contract/envelope.ts';
import { legacyTokens } from '../../src/contract/legacy-tokens.ts';
import { parseFence } from '../../src/contract/parse-fence.ts';
import { fixtures } from './fixtures.ts';

interface Vectors {
  readonly profile: Profile;
  readonly form: readonly {
    readonly name: string;
    readonly envelope: unknown;
    readonly ok: boolean;
    readonly errors: readonly (readonly [string, string])[];
    readonly legacy_tokens?: readonly string[];
  }[];
  readonly fence: readonly {
    readonly name: string;
    readonly text: string;
    readonly parsed: Readonly<Record<string, string>> | null;
  }[];
}

/** Recorded verdicts that lie beside the repo; where they are not there, the repo's own rows cover the same kinds. */
const FOLDER = join(import.meta.dirname, '..', '..', '..', 'shared', 'vectors');
const recorded: readonly Vectors[] = existsSync(FOLDER)
  ? readdirSync(FOLDER)
      .filter((name) => name.endsWith('.json'))
      .map((name) => JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as Vectors)
  : [];

for (const [source, all] of [
  ['own', fixtures as readonly Vectors[]],
  ['recorded', recorded],
] as const)
  describe.skipIf(all.length === 0)(`contract vectors (${source})`, () => {
    for (const { profile, form, fence } of all) {
      it.each(form.map((row) => [row.name, row] as const))(`${profile} form: %s`, (_name, row) => {
        const errors = checkForm(row.envelope, profile);
        expect(errors.map(({ code, field }) => [code, field])).toEqual(row.errors);
        expect(errors.length === 0).toBe(row.ok);
        if (row.legacy_tokens !== undefined) expect(legacyTokens(errors)).toEqual(row.legacy_tokens);
      });
      it.each(fence.map((row) => [row.name, row] as const))(`${profile} fence: %s`, (_name, row) => {
        for (const asked of [profile, null]) {
          const parsed = parseFence(row.text, asked);
          const told =
            parsed === null
              ? null
              : { tag: own(parsed, '_contract_tag'), [profile]: own(own(parsed, 'agent_status'), profile) };
          expect(told).toEqual(row.parsed);
        }
      });
    }
  });
