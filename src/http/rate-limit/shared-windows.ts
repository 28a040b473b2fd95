import type { EndpointClass } from '../../contract/endpoints';
import type { RateHeaders } from './headers';

/** A window as the responses of one class report it. */
interface Reported {
  readonly limit: number;
  readonly endsAtMs: number;
  /** The lowest value reported. */
  remaining: number;
}

/** Windows known for each class when a request was sent; the service counted all of that before the request. */
export interface Before {
  readonly atMs: number;
  readonly reported: ReadonlyMap<EndpointClass, { readonly window: Reported; readonly remaining: number }>;
}

interface Finding {
  readonly other: EndpointClass;
  readonly isShared: boolean;
}

/** RESET is in whole seconds, and a response takes time to arrive. */
const vagueMs = 1_100;
/** It is unknown which moment a slower response describes. */
const promptMs = 1_000;

/**
 * Finds out which endpoint classes share a window; the document does not say, but the headers do. The same LIMIT and the same end are one
 * window until a response contradicts: in one window, each response reports less than all before it, whatever their class. Classes that
 * proved separate stay so, even if their windows begin together again.
 */
export class SharedWindows {
  readonly #windows = new Map<EndpointClass, Reported>();
  readonly #relations = new Map<string, 'shared' | 'apart' | 'contradicted'>();

  areSeparate(one: EndpointClass, other: EndpointClass): boolean {
    const relation = this.#relations.get(pairOf(one, other));
    return relation === 'apart' || relation === 'contradicted';
  }

  /** Must be called when a request is sent. */
  before(nowMs: number): Before {
    const reported = [...this.#windows].map(
      ([name, window]) => [name, { window, remaining: window.remaining }] as const,
    );
    return { atMs: nowMs, reported: new Map(reported) };
  }

  /** Findings of the response about this class and the others. */
  answered(
    name: EndpointClass,
    before: Before,
    { headers, nowMs }: { headers: RateHeaders; nowMs: number },
  ): Finding[] {
    const { limit, remaining, throttled, retryAfterSeconds, resetSeconds } = headers;
    const seconds = retryAfterSeconds ?? resetSeconds;
    if (limit === undefined || remaining === undefined || seconds === undefined) return [];
    if (nowMs - before.atMs > promptMs) return [];
    const window: Reported = { limit, remaining, endsAtMs: nowMs + seconds * 1_000 };
    /** Whether the response reports no less than what was known of that window. */
    const contradicts = (theirs: Reported, other: EndpointClass): boolean => {
      const known = before.reported.get(other);
      return !throttled && known?.window === theirs && remaining >= known.remaining;
    };
    // A window that may be over for the service says nothing.
    const others = [...this.#windows].filter(([other, { endsAtMs }]) => other !== name && nowMs + vagueMs <= endsAtMs);
    const findings = others.map(([other, theirs]) => {
      const pair = pairOf(name, other);
      if (this.#relations.get(pair) !== 'contradicted') {
        const isApart = !isSame(theirs, window);
        this.#relations.set(pair, isApart ? 'apart' : contradicts(theirs, other) ? 'contradicted' : 'shared');
      }
      return { other, isShared: this.#relations.get(pair) === 'shared' };
    });
    const own = this.#windows.get(name);
    if (!own || nowMs >= own.endsAtMs || !isSame(own, window) || contradicts(own, name))
      this.#windows.set(name, window);
    else own.remaining = Math.min(own.remaining, remaining);
    return findings;
  }
}

function isSame(one: Reported, other: Reported): boolean {
  return one.limit === other.limit && Math.abs(one.endsAtMs - other.endsAtMs) <= vagueMs;
}

function pairOf(one: EndpointClass, other: EndpointClass): string {
  return one < other ? `${one} ${other}` : `${other} ${one}`;
}
