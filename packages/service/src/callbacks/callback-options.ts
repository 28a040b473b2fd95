import { callbackLimits, type CallbackLimits, checkLimits } from '../shared/limits';
import { type ResolveHost, resolveWithSystem } from './callback-address';

/** How the service delivers callbacks. */
export interface CallbackOptions extends Partial<CallbackLimits> {
  /** Default: the system's resolver. Called once per attempt; the connection uses its answer. */
  resolveHost?: ResolveHost;
}

export type CallbackSettings = Required<CallbackOptions>;

export function checkCallbackOptions({ resolveHost, ...limits }: CallbackOptions = {}): CallbackSettings {
  return { ...checkLimits(callbackLimits, limits, 'callbacks.'), resolveHost: resolveHost ?? resolveWithSystem };
}

interface FailedAttempt {
  /** Attempts until now, this one included. */
  readonly attempts: number;
  readonly completedAt: number;
  readonly now: number;
  /** Waited for in full. */
  readonly retryAfterSeconds: number | undefined;
}

/** When to try again; undefined: never. The pause is jittered by up to half, so that callbacks that failed together spread out. */
export function planRetry(
  { attempts, completedAt, now, retryAfterSeconds = 0 }: FailedAttempt,
  { maxAttempts, firstRetryMs, maxRetryMs, maxAgeMs }: Omit<CallbackLimits, 'timeoutMs'>,
  random: () => number = Math.random,
): number | undefined {
  if (attempts >= maxAttempts) return undefined;
  const pauseMs = Math.min(maxRetryMs, firstRetryMs * 2 ** (attempts - 1));
  const jitteredMs = Math.ceil(pauseMs * (0.5 + random() / 2));
  const next = now + Math.max(jitteredMs, retryAfterSeconds * 1000);
  return next <= completedAt + maxAgeMs ? next : undefined;
}
