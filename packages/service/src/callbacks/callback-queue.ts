import { setTimeout as sleep } from 'node:timers/promises';
import { parseRetryAfter } from 'temporal-file-conversion/contract';
import type { Log } from 'temporal-file-conversion/messages';
import type { Account } from '../accounts/account';
import type { Accounts } from '../accounts/accounts';
import type { Faults } from '../faults/faults';
import { inspectError, messageOf } from '../shared/caught';
import type { CallbackLimits } from '../shared/limits';
import type { ServiceMetrics } from '../shared/service-metrics';
import { responseJson } from '../tasks/answer';
import { includeOf } from '../tasks/request-data';
import type { PendingCallback, TaskStore } from '../tasks/task-store';
import type { CallbackOptions } from './options';
import {
  type CallbackAnswer,
  callbackProblem,
  type CallbackRequest,
  RefusedAddressError,
  sendCallback,
} from './send-callback';

interface QueueOptions {
  store: TaskStore;
  settings: Required<CallbackOptions>;
  accounts: Accounts;
  faults: Faults;
  metrics: ServiceMetrics | undefined;
  log: Log;
}

type Outcome =
  | { kind: 'delivered'; problem: null }
  /** Final. `sent`: an attempt was made. */
  | { kind: 'refused'; problem: string; sent: boolean }
  | { kind: 'unanswered'; problem: string; retryAfterSeconds?: number | undefined };

/** Concurrent attempts, in all and per host. */
const concurrency = 16;
const concurrencyOfHost = 4;

/** The longest sleep of a timer, so that a clock change is noticed. */
const maxSleepMs = 60_000;

/** Pause after a database failure. */
const brokenRetryMs = 5_000;

/** How long stop() waits for attempts in progress before it aborts them. */
const stopGraceMs = 1_000;

/**
 * Section "Events": delivers the final response of every completed task with a callback, at least once. The database is the source of
 * truth: a delivery that was in flight when a process died is repeated. A slow host delays neither other hosts nor conversions.
 */
export class CallbackQueue {
  readonly #underWay = new Map<string, { host: string; delivery: Promise<void> }>();
  readonly #stop = new AbortController();
  #woken = false;
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: QueueOptions) {}

  /** Starts with what an earlier process left pending. */
  start(): void {
    this.options.store.callbacks.listen(() => this.#wake());
    this.#wake();
  }

  /** Gives attempts in flight a moment to end; pending callbacks stay in the database. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    const ended = Promise.allSettled([...this.#underWay.values()].map(({ delivery }) => delivery));
    const grace = setTimeout(() => this.#stop.abort(), stopGraceMs);
    await ended;
    clearTimeout(grace);
  }

  /** Looks for work in a later turn of the event loop, because this one may be in the transaction that adds a callback. */
  #wake(): void {
    if (this.#woken) return;
    this.#woken = true;
    setImmediate(() => {
      this.#woken = false;
      this.#startDue();
    });
  }

  #startDue(): void {
    if (this.#stopped) return;
    clearTimeout(this.#timer);
    let pauseMs = brokenRetryMs;
    // One time for both queries, or a callback that becomes due between them would be in neither.
    const now = Date.now();
    try {
      this.#fillSlots(now);
      const next = this.options.store.callbacks.nextDueAfter(now);
      pauseMs = next === undefined ? maxSleepMs : next - Date.now();
    } catch (error) {
      this.options.log(`callbacks can't be read, tries again: ${messageOf(error)}`, { level: 'error' });
    }
    this.#timer = setTimeout(() => this.#wake(), Math.min(maxSleepMs, Math.max(1, pauseMs))).unref();
  }

  #fillSlots(now: number): void {
    const { store } = this.options;
    while (this.#underWay.size < concurrency) {
      const callback = store.callbacks.findDue(now, [...this.#underWay.keys()], this.#busyHosts());
      if (!callback) return;
      const delivery = this.#deliver(callback).finally(() => {
        this.#underWay.delete(callback.task);
        this.#wake();
      });
      this.#underWay.set(callback.task, { host: callback.host, delivery });
    }
  }

  #busyHosts(): string[] {
    const counts = new Map<string, number>();
    for (const { host } of this.#underWay.values()) counts.set(host, (counts.get(host) ?? 0) + 1);
    return [...counts].flatMap(([host, count]) => (count >= concurrencyOfHost ? [host] : []));
  }

  async #deliver(callback: PendingCallback): Promise<void> {
    const { log } = this.options;
    try {
      const outcome = await this.#attempt(callback);
      if (outcome) this.#record(callback, outcome);
    } catch (error) {
      // The callback is still in the database and can wait.
      log(`callback of task ${callback.task} can't be recorded, tries again: ${messageOf(error)}`, {
        level: 'error',
        taskId: callback.task,
      });
      await sleep(brokenRetryMs, undefined, { signal: this.#stop.signal, ref: false }).catch(() => undefined);
    }
  }

  /** Undefined: the service is stopping, and it is unknown whether the receiver got the callback. */
  async #attempt(callback: PendingCallback): Promise<Outcome | undefined> {
    const { store, settings, accounts } = this.options;
    // The account may have changed since the request.
    const account = accounts.find(callback.app);
    const task = store.findAnywhere(callback.task);
    if (!account || !task) {
      return { kind: 'refused', problem: `the ${account ? 'task' : 'app'} is not there any more`, sent: false };
    }
    const refusal = callbackProblem(callback.url, account);
    if (refusal) return { kind: 'refused', problem: refusal, sent: false };
    try {
      const request = {
        url: new URL(callback.url),
        // The same response as in mode sync.
        body: responseJson(task, includeOf(task.payload)),
        privateHosts: account.privateCallbackHosts,
        signal: this.#stop.signal,
      };
      if (callback.attempts === 0 && (await this.#mistreat(account, request))) {
        return { kind: 'delivered', problem: null };
      }
      return judge(await sendCallback(request, settings));
    } catch (error) {
      if (this.#stop.signal.aborted) return undefined;
      if (error instanceof RefusedAddressError) return { kind: 'refused', problem: error.message, sent: false };
      return { kind: 'unanswered', problem: inspectError(error).code ?? messageOf(error) };
    }
  }

  /** Injects faults: a late, a repeated or a lost callback. Resolves to whether it is lost. */
  async #mistreat(app: Account, request: CallbackRequest): Promise<boolean> {
    const { lost, delayMs, copies } = this.options.faults.rules.ofCallback(app);
    if (delayMs > 0) await sleep(delayMs, undefined, { signal: this.#stop.signal, ref: false });
    for (let copy = 1; copy < copies && !lost; copy += 1) await sendCallback(request, this.options.settings);
    return lost;
  }

  #record({ task, url, completedAt, attempts: before }: PendingCallback, outcome: Outcome): void {
    const { store, settings, metrics, log } = this.options;
    const now = Date.now();
    const attempts = before + (outcome.kind === 'refused' && !outcome.sent ? 0 : 1);
    const { kind, problem } = outcome;
    const retryAt =
      kind === 'unanswered' ? planRedelivery({ ...outcome, attempts, completedAt, now }, settings) : undefined;
    const ended = kind === 'delivered' ? kind : 'failed';
    const state = retryAt === undefined ? ended : 'pending';
    const endedAt = retryAt === undefined ? now : null;
    store.callbacks.record(task, { state, attempts, nextAttemptAt: retryAt ?? null, endedAt, problem });
    metrics?.calledBack(state === 'pending' ? 'retried' : state);
    if (state !== 'failed') return;
    // Only the origin: path and query may hold a secret of the receiver.
    const origin = URL.canParse(url) ? new URL(url).origin : 'a URL that cannot be read';
    log(`callback of task ${task} to ${origin} failed after ${attempts} attempt(s): ${problem}`, {
      level: 'warn',
      taskId: task,
      attempts,
    });
  }
}

/** 2xx: received. 410: never wanted again. Anything else may be temporary. */
function judge({ status, retryAfter }: CallbackAnswer): Outcome {
  if (status >= 200 && status < 300) return { kind: 'delivered', problem: null };
  if (status === 410) return { kind: 'refused', problem: 'HTTP 410', sent: true };
  const isRedirect = status >= 300 && status < 400;
  return {
    kind: 'unanswered',
    problem: isRedirect ? `HTTP ${status}, and redirects are not followed` : `HTTP ${status}`,
    retryAfterSeconds: parseRetryAfter(retryAfter, Date.now()),
  };
}

/** Time of the next attempt; undefined: never. Waits for RETRY-AFTER in full; jitter of up to half spreads out joint failures. */
export function planRedelivery(
  {
    attempts,
    completedAt,
    now,
    retryAfterSeconds = 0,
  }: { attempts: number; completedAt: number; now: number; retryAfterSeconds?: number | undefined },
  { maxAttempts, firstRetryMs, maxRetryMs, maxAgeMs }: Omit<CallbackLimits, 'timeoutMs'>,
  random: () => number = Math.random,
): number | undefined {
  if (attempts >= maxAttempts) return undefined;
  const pauseMs = Math.min(maxRetryMs, firstRetryMs * 2 ** (attempts - 1));
  const jitteredMs = Math.ceil(pauseMs * (0.5 + random() / 2));
  const next = now + Math.max(jitteredMs, retryAfterSeconds * 1000);
  return next <= completedAt + maxAgeMs ? next : undefined;
}
