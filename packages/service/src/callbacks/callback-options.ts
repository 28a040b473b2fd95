import { type ResolveHost, resolveWithSystem } from './callback-address';

/** How often and how long a callback is tried. */
interface RetrySchedule {
  readonly maxAttempts: number;
  /** Before the second attempt; it doubles with each one after. */
  readonly firstRetryMs: number;
  readonly maxRetryMs: number;
  /** From the completion of the task; no later attempt is planned. */
  readonly maxAgeMs: number;
}

/** How the service delivers callbacks; times are in milliseconds. */
export interface CallbackOptions extends Partial<RetrySchedule> {
  /** One attempt, from the host's name to the end of the answer. Default 15,000. */
  timeoutMs?: number;
  /** Attempts under way at a time, a quarter of them to one host. Default 16. */
  concurrency?: number;
  /** Default: the system's resolver. Asked once an attempt; the connection goes to what it answered. */
  resolveHost?: ResolveHost;
}

export type CallbackSettings = Required<CallbackOptions>;

/** Fifteen attempts take six hours or more: the night in which somebody repairs the receiver. */
const defaults: CallbackSettings = {
  maxAttempts: 15,
  firstRetryMs: 10_000,
  maxRetryMs: 60 * 60 * 1000,
  maxAgeMs: 24 * 60 * 60 * 1000,
  timeoutMs: 15_000,
  concurrency: 16,
  resolveHost: resolveWithSystem,
};

/** Of a timer. */
const maxTimeoutMs = 2 ** 31 - 1;

export function checkCallbackOptions(options: CallbackOptions = {}): CallbackSettings {
  const settings = { ...defaults, ...options };
  for (const [name, value] of Object.entries(settings)) {
    const limit = name === 'timeoutMs' ? maxTimeoutMs : Number.MAX_SAFE_INTEGER;
    if (typeof value === 'number' && !(Number.isInteger(value) && value > 0 && value <= limit)) {
      throw new Error(`callbacks.${name} must be a whole number from 1 to ${limit}, not ${value}.`);
    }
  }
  return settings;
}

interface FailedAttempt {
  /** Attempts until now, this one included. */
  readonly attempts: number;
  readonly completedAt: number;
  readonly now: number;
  /** Waited for in full. */
  readonly retryAfterSeconds: number | undefined;
}

/** When to try again; undefined: not any more. Between half of the pause and all of it, so that what failed together spreads. */
export function planRetry(
  { attempts, completedAt, now, retryAfterSeconds = 0 }: FailedAttempt,
  { maxAttempts, firstRetryMs, maxRetryMs, maxAgeMs }: RetrySchedule,
  random: () => number = Math.random,
): number | undefined {
  if (attempts >= maxAttempts) return undefined;
  const pauseMs = Math.min(maxRetryMs, firstRetryMs * 2 ** (attempts - 1));
  const jitteredMs = Math.ceil(pauseMs * (0.5 + random() / 2));
  const next = now + Math.max(jitteredMs, retryAfterSeconds * 1000);
  return next <= completedAt + maxAgeMs ? next : undefined;
}
