import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Account } from './accounts/account';
import type { Accounts } from './accounts/accounts';
import { taskPathOf } from './api-version';
import { RateLimiter, type RateState } from './rate-limiter';
import { TaskError } from './task-error';
import type { AskedEndpoint } from './task-routes';

/**
 * Who may ask, and how often. Decided before a body is read, so that a stranger's upload never touches the disk. An app has a
 * window for each class of endpoints; whoever is no app has one for its address, unknown paths and wrong methods included.
 */
export class Admission {
  readonly #accounts: Accounts;
  readonly #apps = new RateLimiter();
  readonly #strangers = new RateLimiter();
  readonly #admitted = new WeakMap<FastifyRequest, Account>();

  constructor(accounts: Accounts) {
    this.#accounts = accounts;
  }

  /** Lets the request of an app through, or returns why not; the rate-limit headers are on the reply either way. */
  admit(request: FastifyRequest, reply: FastifyReply, { endpoint, rateClass }: AskedEndpoint): TaskError | undefined {
    const app = this.#identify(request);
    if (app instanceof TaskError) return this.admitStranger(request, reply) ?? app;
    const { windowSeconds, [rateClass]: limit } = app.rateLimits;
    const refusal = report(reply, this.#apps.take(`${app.appId}/${rateClass}`, { limit, windowSeconds }));
    if (refusal) return refusal;
    if (app.plan === 'free') return new TaskError('FREE_PLAN_DISALLOWED');
    if (app.freeApp?.disabledEndpoints.has(taskPathOf(endpoint)) === true)
      return new TaskError('DISABLED_FOR_FREE_APP');
    this.#admitted.set(request, app);
    return undefined;
  }

  /** Counts a request that belongs to no app; returns an error when its address has sent too many. */
  admitStranger({ ip }: FastifyRequest, reply: FastifyReply): TaskError | undefined {
    const { windowSeconds, requests } = this.#accounts.strangers;
    return report(reply, this.#strangers.take(ip, { limit: requests, windowSeconds }));
  }

  /** The app of a request that was let through. */
  appOf(request: FastifyRequest): Account {
    const app = this.#admitted.get(request);
    if (!app) throw new TaskError('MISSING_AUTHORIZATION_HEADER');
    return app;
  }

  #identify({ headers }: FastifyRequest): Account | TaskError {
    try {
      return this.#accounts.authenticate(headers.authorization);
    } catch (error) {
      if (error instanceof TaskError) return error;
      throw error;
    }
  }
}

/** Every answer carries the headers of section "Limits"; RETRY-AFTER only the one that was too many. */
function report(reply: FastifyReply, { limit, remaining, resetSeconds, exceeded }: RateState): TaskError | undefined {
  void reply.header('x-ratelimit-limit', limit);
  void reply.header('x-ratelimit-remaining', remaining);
  void reply.header('x-ratelimit-reset', resetSeconds);
  if (!exceeded) return undefined;
  void reply.header('retry-after', resetSeconds);
  return new TaskError('TOO_MANY_REQUESTS', { subject: String(resetSeconds) });
}
