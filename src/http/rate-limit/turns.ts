import {
  dueNumber,
  lastNumber,
  promptMs,
  spentByOthers,
  type RateWindow,
  type Sent,
  type ReportedWindow,
} from './rate-window';

/** The first request of a window that many workers share: its number, and when it is due. */
interface FirstTurn {
  readonly number: number;
  readonly dueMs: number;
}

/**
 * One worker's part of an allowance that others spend as well. REMAINING numbers the requests of a window over all workers, and every
 * worker knows the timetable by which they are due. Each takes every n-th turn (`every`), and learns n from the numbers that its requests
 * get. Workers need not know each other; a worker that has gone or has no work leaves its turns to the rest.
 */
export class Turns {
  #every = 1;
  /** Number of windows for which other workers are still expected to spend from this allowance. */
  #sharedFor = 0;
  #first: FirstTurn | undefined;
  #refusedInARow = 0;

  /** All workers together send this many requests for each one sent here. */
  get every(): number {
    return this.#every;
  }

  /** No other worker was recently seen to spend from this allowance. */
  get isAlone(): boolean {
    return this.#sharedFor === 0;
  }

  windowOpened(): void {
    this.#sharedFor = Math.max(0, this.#sharedFor - 1);
  }

  /** The apparent spending of others was our own. */
  nobodyElse(): void {
    this.#sharedFor = 0;
  }

  othersSeen(window: RateWindow): void {
    const { limit } = window;
    const own = Math.max(1, window.own);
    // Half of the workers that start with it have yet to show up.
    const seen = (2 * (spentByOthers(window) + own)) / own - 1;
    if (this.isAlone) this.#every = Math.max(1, Math.min(maxAtFirst, limit / 4, seen));
    this.#sharedFor = sharedWindows;
  }

  /** When this worker may send the first request of a window about which it knows nothing. */
  firstDueMs(): number {
    return this.#first?.dueMs ?? 0;
  }

  takeFirst(sent: Sent): void {
    if (this.#first && sent.atMs < this.#first.dueMs + promptMs) sent.turn = this.#first.number;
  }

  /** Must be called before the request is placed in the window. */
  take(sent: Sent, window: RateWindow): void {
    if (this.isAlone) return;
    const turn = window.number + this.#every;
    const due = dueNumber(window, { nowMs: sent.atMs, isPatient: sent.isPatient });
    // A request that was late for want of work says nothing about the others.
    if (due - turn < this.#every / 2) sent.turn = turn;
    window.number = Math.min(window.limit, Math.max(turn, due));
  }

  /** Compares the number that a request got with its turn. */
  answered(sent: Sent, window: RateWindow, { limit, remaining, resetMs, nowMs }: ReportedWindow): void {
    const { ordinal = window.own, turn, isPatient, atMs } = sent;
    this.#refusedInARow = 0;
    const number = limit - remaining;
    if (number > window.own + window.before) this.othersSeen(window);
    if (this.isAlone) return;
    const isPrompt = nowMs - atMs <= promptMs;
    if (isPrompt) window.number = number + this.#every * (window.own - ordinal);
    if (turn === undefined) {
      if (isPrompt && ordinal === 1 && resetMs >= window.lengthMs - promptMs) this.#meet(number);
      return;
    }
    // The number in a slow response may be of any moment between sending and receiving.
    const [due, dueBefore] = [nowMs, atMs].map((ms) => dueNumber(window, { nowMs: ms, isPatient })) as [number, number];
    const passed = isPrompt ? 0 : due - dueBefore;
    const lead = Math.max(0, number - turn - passed) + Math.min(0, number - turn);
    if (isPrompt || lead !== 0) this.#learn(lead);
  }

  /**
   * The workers are too fast together. Several refusals in a row have another cause, such as an outage; a worker that slowed down for
   * each of them would send, and so learn, hardly anything for hours afterwards.
   */
  refused(): void {
    this.#refusedInARow += 1;
    if (!this.isAlone && this.#refusedInARow <= maxTaught) this.#learn(this.#every);
  }

  /**
   * All workers ask first when a window begins, unless there are too many of them: then their turns continue from one window to the next.
   * `endMs`: end of this window, including any RETRY-AFTER.
   */
  planFirst(window: RateWindow, { lengthMs, endMs, next }: { lengthMs: number; endMs: number; next?: number }): void {
    this.#first = undefined;
    if (this.isAlone || this.#every < Math.max(many, window.limit * manyShare)) return;
    const last = lastNumber(window, this.#every);
    const beyond = Math.max(0, next ?? window.number + this.#every - last);
    const number = beyond % last;
    const dueMs = endMs + lengthMs * (Math.floor(beyond / last) + number / window.limit);
    this.#first = { number, dueMs };
  }

  /** At the beginning of a window all workers ask at once. A worker that is early among few takes more turns. */
  #meet(rank: number): void {
    this.#every = Math.max(1, this.#every - meetingGain * Math.max(0, this.#every - (2 * rank - 1)));
  }

  /**
   * A number beyond the turn means that the workers together are too fast: each slows down by the same amount, whatever its pace. In
   * between each speeds up by a part of its pace, so that they become equally fast.
   */
  #learn(lead: number): void {
    const every = this.#every;
    const surplus = lead - clamp(lead, tolerance);
    this.#every = Math.max(1, every * (1 - drift) + gain * clamp(surplus, every));
  }
}

function clamp(value: number, most: number): number {
  return Math.min(most, Math.max(-most, value));
}

/** Number of windows for which other workers are expected after they were last seen. */
const sharedWindows = 5;
/** A worker that joins late sees what the others have spent, but not how many they are. */
export const maxAtFirst = 20;
/** Neighbours in the timetable may swap places. */
const tolerance = 1;
const gain = 0.5;
const drift = 0.02;
const meetingGain = 0.2;
/** From this many workers, and from this part of an allowance, on, their first requests would use up too much of it at once. */
const many = 10;
const manyShare = 0.45;
/** Further refusals in a row teach nothing. */
const maxTaught = 3;
