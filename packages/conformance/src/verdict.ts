import { isDeepStrictEqual } from 'node:util';
import { includeItems, isObject } from 'temporal-file-conversion/contract';
import type { Reply } from './reply';

/** The service does not do what the rule says. */
export class RuleBroken extends Error {
  override readonly name = 'RuleBroken';
}

/** The rule could be neither confirmed nor refuted, for example because a conversion was over too soon. */
export class Undecided extends Error {
  override readonly name = 'Undecided';
}

/** @throws RuleBroken unless the condition holds. */
export function ensure(condition: boolean, message: string): asserts condition {
  if (!condition) throw new RuleBroken(message);
}

export function ensureEqual(actual: unknown, expected: unknown, what: string): void {
  ensure(isDeepStrictEqual(actual, expected), `${what} is ${show(actual)}, not ${show(expected)}`);
}

export function ensureOneOf(actual: unknown, allowed: readonly unknown[], what: string): void {
  ensure(allowed.includes(actual), `${what} is ${show(actual)}, none of ${allowed.map(show).join(', ')}`);
}

export function ensureMatches(actual: unknown, pattern: RegExp, what: string): asserts actual is string {
  ensure(typeof actual === 'string' && pattern.test(actual), `${what} is ${show(actual)}`);
}

/** Of entity, payload and result, `holder` has exactly these. */
export function ensureItems(holder: unknown, asked: readonly string[], what: string): void {
  const keys = isObject(holder) ? Object.keys(holder) : [];
  const [held, expected] = [keys, asked].map((some) => includeItems.filter((item) => some.includes(item)));
  ensureEqual(held, expected, what);
}

/** The request was answered with an error of one of these codes. */
export function ensureError(reply: Reply, codes: readonly string[], asked: string): void {
  const { errorCode } = reply;
  const got = errorCode === undefined ? `no error (${reply.describe()})` : `${errorCode} (HTTP ${reply.status})`;
  ensure(errorCode !== undefined && codes.includes(errorCode), `${asked}: ${got}, expected ${codes.join(' or ')}`);
}

/** The request was answered with an error, whatever its code. */
export function ensureRefused(reply: Reply, asked: string): void {
  ensure(reply.errorCode !== undefined, `${asked}: no error (${reply.describe()})`);
}

export function isCount(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 0;
}

/** The request was carried out. */
export function isAccepted({ errorCode, status }: Reply): boolean {
  return errorCode === undefined && status < 400;
}

export function ensureAccepted(reply: Reply, asked: string): void {
  ensure(isAccepted(reply), `${asked}: ${reply.describe()}`);
}

/** Empty if the value could not be observed; the rule that it belongs to reports that. */
export function ifSeen<Value>(seen: Promise<Value>): Promise<Value[]> {
  return seen.then(
    (value) => [value],
    (error: unknown) => {
      if (error instanceof Undecided) return [];
      throw error;
    },
  );
}

/** A value on one line, short enough for a table. */
export function show(value: unknown): string {
  const text = value === undefined ? 'missing' : JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
}
