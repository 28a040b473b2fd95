import type { EndpointClass } from './endpoint-class';
import type { RateHeaders } from './headers';

/** What the responses of one class say about its window, and how often it was used here. */
interface Tally {
  readonly limit: number;
  remaining: number;
  /** When `remaining` was last reported. */
  toldMs: number;
  endsAtMs: number;
  /** Responses in this window: the service has counted at least this many requests. */
  answered: number;
}

interface Seen extends Readonly<Tally> {
  readonly tally: Tally;
}

/** What was known when a request was sent: the service has counted all of that before it. */
export interface Before {
  readonly atMs: number;
  readonly known: ReadonlyMap<EndpointClass, Seen>;
}

interface Answer extends Pick<AnswerOf, 'name' | 'before' | 'nowMs'> {
  readonly limit: number;
  readonly remaining: number;
  readonly endsAtMs: number;
  readonly throttled: boolean;
}

interface AnswerOf {
  readonly name: EndpointClass;
  readonly before: Before;
  readonly headers: RateHeaders;
  readonly nowMs: number;
  readonly isAlone: (other: EndpointClass) => boolean;
}

export interface Finding {
  readonly other: EndpointClass;
  readonly isShared: boolean;
}

interface Relation {
  state: 'unknown' | 'shared' | 'separate';
  /** Consecutive responses that fit one window for both. */
  inRow: number;
  /** How many are needed to treat them as one again. */
  needed: number;
}

/** RESET is in whole seconds, and a response takes time to arrive. */
const vagueMs = 1_100;
/** It is unknown which moment a slower response describes. */
const promptMs = 1_000;
const fewestInRow = 4;
const fewByOthers = 2;

/**
 * Finds out which endpoint classes share a window: the document does not say, the headers do. If two classes share a
 * window, each response reports less than all before it, of either class. If they do not, each window falls only by
 * what its own class sent.
 *
 * A response that cannot belong to the other class's window proves that they differ. One that fits proves less if other
 * workers spend from the same allowances: what is taken for one window is therefore split by the first response that
 * does not fit, and joined again ever more slowly.
 */
export class WindowEvidence {
  readonly #tallies = new Map<EndpointClass, Tally>();
  readonly #underWay = new Map<EndpointClass, number>();
  readonly #relations = new Map<string, Relation>();

  areSeparate(one: EndpointClass, other: EndpointClass): boolean {
    return this.#relation(one, other).state === 'separate';
  }

  /** A request is in flight until `settled` is called. */
  sent(name: EndpointClass, nowMs: number): Before {
    this.#underWay.set(name, this.#underWayOf(name) + 1);
    const alive = [...this.#tallies].filter(([, tally]) => nowMs < tally.endsAtMs);
    return { atMs: nowMs, known: new Map(alive.map(([each, tally]) => [each, { ...tally, tally }])) };
  }

  settled(name: EndpointClass): void {
    this.#underWay.set(name, this.#underWayOf(name) - 1);
  }

  /** What the response says about this class and others. `isAlone`: no other worker spends the other's allowance. */
  answered({ name, before, headers, nowMs, isAlone }: AnswerOf): Finding[] {
    const { limit, remaining, throttled, retryAfterSeconds, resetSeconds } = headers;
    const seconds = retryAfterSeconds ?? resetSeconds;
    const isPrompt = nowMs - before.atMs <= promptMs;
    if (limit === undefined || remaining === undefined || seconds === undefined || !isPrompt) return [];
    const answer = { name, before, limit, remaining, endsAtMs: nowMs + seconds * 1_000, nowMs, throttled };
    const findings = [...this.#tallies.keys()].flatMap((other) => {
      const evidence = other === name ? 'none' : this.#compare(answer, other);
      if (evidence === 'none') return [];
      const relation = this.#relation(name, other);
      weigh(relation, evidence === 'explains' && !isAlone(other) ? 'fits' : evidence);
      return relation.state === 'unknown' ? [] : [{ other, isShared: relation.state === 'shared' }];
    });
    this.#count(answer);
    return findings;
  }

  #compare(answer: Answer, other: EndpointClass): Evidence {
    const { name, before, limit, remaining, nowMs, throttled } = answer;
    const theirs = this.#tallies.get(other);
    const known = before.known.get(other);
    if (!theirs || theirs !== known?.tally) return 'none';
    if (limit !== theirs.limit) return 'against';
    // Their window may already be over for the service.
    if (nowMs + vagueMs > theirs.endsAtMs) return 'none';
    if (!endsWith(theirs, answer)) return 'against';
    const own = before.known.get(name);
    const ownBefore = own && endsWith(own.tally, answer) ? own.answered : 0;
    const most = Math.min(known.remaining, limit - known.answered - ownBefore) - 1;
    if (!throttled && remaining > most) return 'against';
    // The requests of its own class may be all that was counted.
    if (remaining >= limit - 1 - this.#spent(name, answer)) return 'none';
    const together = [...this.#tallies.keys()].filter((each) => each === name || !this.areSeparate(name, each));
    const spent = together.reduce((total, each) => total + this.#spent(each, answer), 1);
    if (remaining >= limit - spent) return 'explains';
    // Other workers took some meanwhile, but hardly more than would use it up evenly.
    const pace = known.remaining / (theirs.endsAtMs - known.toldMs);
    const byOthers = fewByOthers + 2 * pace * (nowMs - known.toldMs);
    return known.remaining - remaining <= spent - known.answered - ownBefore + byOthers ? 'fits' : 'unlikely';
  }

  /** The requests of a class, including those in flight, in a window that ends with this one as far as is known. */
  #spent(name: EndpointClass, answer: Answer): number {
    const tally = this.#tallies.get(name);
    return this.#underWayOf(name) + (tally && endsWith(tally, answer) ? tally.answered : 0);
  }

  #count(answer: Answer): void {
    const { name, before, limit, remaining, endsAtMs, nowMs, throttled } = answer;
    const tally = this.#tallies.get(name);
    const isSame =
      limit === tally?.limit &&
      endsWith(tally, answer) &&
      (remaining < tally.remaining || before.known.get(name)?.remaining !== tally.remaining);
    if (!isSame) {
      this.#tallies.set(name, { limit, remaining, toldMs: nowMs, endsAtMs, answered: throttled ? 0 : 1 });
      return;
    }
    if (remaining < tally.remaining) Object.assign(tally, { remaining, toldMs: nowMs });
    tally.endsAtMs = Math.min(tally.endsAtMs, endsAtMs);
    if (!throttled) tally.answered += 1;
  }

  #underWayOf(name: EndpointClass): number {
    return this.#underWay.get(name) ?? 0;
  }

  #relation(one: EndpointClass, other: EndpointClass): Relation {
    const key = one < other ? `${one} ${other}` : `${other} ${one}`;
    const relation = this.#relations.get(key) ?? { state: 'unknown', inRow: 0, needed: fewestInRow };
    this.#relations.set(key, relation);
    return relation;
  }
}

/** Whether the window reported earlier may be the one that this response reports. */
function endsWith(tally: Tally, { nowMs, endsAtMs }: Answer): boolean {
  return nowMs < tally.endsAtMs && Math.abs(endsAtMs - tally.endsAtMs) <= vagueMs;
}

function weigh(relation: Relation, evidence: Exclude<Evidence, 'none'>): void {
  const { state } = relation;
  if (evidence === 'against') {
    relation.state = 'separate';
    relation.inRow = 0;
    if (state !== 'separate') relation.needed *= 2;
    return;
  }
  relation.inRow = evidence === 'unlikely' ? 0 : relation.inRow + 1;
  const isEnough = evidence === 'explains' && state === 'unknown';
  if (isEnough || relation.inRow >= relation.needed) relation.state = 'shared';
}

/** How a response fits one window for both: impossible, unlikely, possible, or explained by our requests alone. */
type Evidence = 'none' | 'against' | 'unlikely' | 'fits' | 'explains';
