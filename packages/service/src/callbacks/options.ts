import { lookup } from 'node:dns/promises';
import { callbackLimits, type CallbackLimits, checkLimits } from '../shared/limits';
import type { ResolveHost } from './send-callback';

/** How the service delivers callbacks. */
export interface CallbackOptions extends Partial<CallbackLimits> {
  /** Default: the system's resolver. Called once per attempt; the connection uses its answer. */
  resolveHost?: ResolveHost;
}

export function checkCallbackOptions({ resolveHost, ...limits }: CallbackOptions = {}): Required<CallbackOptions> {
  return {
    ...checkLimits(callbackLimits, limits, 'callbacks.'),
    resolveHost: resolveHost ?? ((hostname) => lookup(hostname, { all: true })),
  };
}
