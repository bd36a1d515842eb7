import { type Instant, instantFromIso, instantFromMs } from '../model/instant.ts';
import type { Refused } from './refusal.ts';

export type Json = Readonly<Record<string, unknown>>;

/** @returns whether a JSON value is an object. */
export function isJsonObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const NO_INSTANT = 0 as Instant;

/**
 * Takes the fields of one JSON object. The first field that is missing or does not fit is kept as the refusal, and reading goes
 * on with empty values, so a caller asks for `refusal()` once, at the end; it also refuses fields that nobody asked for.
 * A nullable field may be absent, which is null, save for dates: absence never means forever.
 */
export class FieldReader {
  #refused: Refused | null = null;
  readonly #fields: Json;
  readonly #where: string;
  readonly #asked = new Set<string>();

  constructor(fields: Json, where: string) {
    this.#fields = fields;
    this.#where = where;
  }

  #refuse(refused: Refused['refused'], name: string): void {
    this.#refused ??= { refused, at: `${this.#where}${name}`.replace(/\.$/, '') };
  }

  #take(name: string): unknown {
    this.#asked.add(name);
    return Object.hasOwn(this.#fields, name) ? this.#fields[name] : undefined;
  }

  #required<T>(name: string, read: (value: unknown) => T | null, empty: T): T {
    const value = this.#take(name);
    if (value === undefined) {
      this.#refuse('field-missing', name);
      return empty;
    }
    const found = read(value);
    if (found === null) this.#refuse('field-invalid', name);
    return found ?? empty;
  }

  #nullable<T>(name: string, read: (value: unknown) => T | null, empty: T): T | null {
    const value = this.#take(name);
    return value === undefined || value === null ? null : this.#required(name, read, empty);
  }

  text(name: string, fits: (value: string) => boolean): string {
    return this.#required(name, (value) => (typeof value === 'string' && fits(value) ? value : null), '');
  }

  textOrNull(name: string, fits: (value: string) => boolean): string | null {
    return this.#nullable(name, (value) => (typeof value === 'string' && fits(value) ? value : null), '');
  }

  /** One of a list of words; `empty` stands in after a refusal and never leaves the reader's caller. */
  word<T extends string>(name: string, words: readonly [T, ...T[]]): T {
    return this.#required(name, (value) => words.find((word) => word === value) ?? null, words[0]);
  }

  /** A whole number from 1. */
  count(name: string): number {
    const read = (value: unknown) => (Number.isSafeInteger(value) && (value as number) >= 1 ? (value as number) : null);
    return this.#required(name, read, 0);
  }

  /** A number from `least` to `most`. */
  number(name: string, least: number, most: number): number {
    const read = (value: unknown) => (typeof value === 'number' && value >= least && value <= most ? value : null);
    return this.#required(name, read, least);
  }

  instant(name: string): Instant {
    return this.#required(name, readInstant, NO_INSTANT);
  }

  /** The date must be there, if only as null. */
  instantOrNull(name: string): Instant | null {
    const value = this.#take(name);
    return value === null ? null : this.#required(name, readInstant, NO_INSTANT);
  }

  texts(name: string, most: number, fits: (value: string) => boolean): readonly string[] {
    const read = (value: unknown) => {
      if (!Array.isArray(value) || value.length > most) return null;
      return value.every((one): one is string => typeof one === 'string' && fits(one)) ? value : null;
    };
    return this.#required<readonly string[]>(name, read, []);
  }

  list<T>(name: string, most: number, read: (value: unknown, index: number) => T | null): readonly T[] {
    const readAll = (value: unknown) => {
      if (!Array.isArray(value) || value.length > most) return null;
      const found = value.map((one, index) => read(one, index));
      return found.every((one) => one !== null) ? (found as T[]) : null;
    };
    return this.#required<readonly T[]>(name, readAll, []);
  }

  object(name: string): Json {
    return this.#required<Json>(name, (value) => (isJsonObject(value) ? value : null), {});
  }

  objectOrNull(name: string): Json | null {
    return this.#nullable<Json>(name, (value) => (isJsonObject(value) ? value : null), {});
  }

  /** Records a refusal that is about several fields together. */
  refuseIf(condition: boolean, refused: Refused['refused'], name: string): void {
    if (condition) this.#refuse(refused, name);
  }

  /** @returns the first fault, or null where every field fits and none is left over. */
  refusal(): Refused | null {
    if (this.#refused !== null) return this.#refused;
    const stray = Object.keys(this.#fields).some((name) => !this.#asked.has(name));
    return stray ? { refused: 'field-unknown', at: this.#where.replace(/\.$/, '') } : null;
  }
}

function readInstant(value: unknown): Instant | null {
  if (typeof value === 'number') return instantFromMs(value);
  return typeof value === 'string' ? instantFromIso(value) : null;
}
