import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify';
import type { EndpointClass } from 'temporal-file-conversion/contract';
import type { Account } from '../accounts/account';
import type { Accounts } from '../accounts/accounts';
import { taskPathOf } from '../shared/api-version';
import { TaskError } from '../shared/task-error';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Endpoint of the route, as `v1/convert/file`, and its class, for admission. */
    asked?: { readonly endpoint: string; readonly rateClass: EndpointClass };
  }
}

/**
 * Authentication and rate limits. A request without a valid token is refused before its body is read, so that an anonymous upload never
 * touches the disk. An app is refused after its field `data` was read, which says how to answer, but before a file is. An app has a
 * window per class of endpoints (unknown paths: `info`); an anonymous address has one for everything.
 */
export class Admission {
  readonly #apps = new RateLimiter();
  readonly #anonymous = new RateLimiter();
  readonly #known = new WeakMap<FastifyRequest, KnownApp>();

  constructor(private readonly accounts: Accounts) {}

  /** Admits a request that names an app, or returns why not; sets the rate-limit headers either way. */
  admit(
    request: FastifyRequest,
    reply: FastifyReply,
    { endpoint, rateClass }: NonNullable<FastifyContextConfig['asked']>,
  ): TaskError | undefined {
    const app = this.accounts.authenticate(request.headers.authorization);
    if (app instanceof TaskError) return this.admitAnonymous(request, reply) ?? app;
    this.#known.set(request, { app, refusal: this.#count(app, rateClass, reply) ?? refusalOf(app, endpoint) });
    return undefined;
  }

  /** Counts a request that matches no endpoint; returns an error if there were too many. */
  admitStray(request: FastifyRequest, reply: FastifyReply, rateClass: EndpointClass = 'info'): TaskError | undefined {
    const app = this.accounts.authenticate(request.headers.authorization);
    return app instanceof TaskError ? this.admitAnonymous(request, reply) : this.#count(app, rateClass, reply);
  }

  #count(app: Account, rateClass: EndpointClass, reply: FastifyReply): TaskError | undefined {
    const { windowSeconds, [rateClass]: limit } = app.rateLimits;
    const { headers, refusal } = judge(this.#apps.take(`${app.appId}/${rateClass}`, { limit, windowSeconds }));
    void reply.headers(headers);
    return refusal;
  }

  /** Counts a request without an app; returns an error if its address has sent too many. */
  admitAnonymous({ ip }: FastifyRequest, reply: FastifyReply): TaskError | undefined {
    const { headers, refusal } = this.countAnonymous(ip);
    void reply.headers(headers);
    return refusal;
  }

  /** The same for a request that cannot be parsed: headers for its answer, and an error if there were too many. */
  countAnonymous(ip: string) {
    const { windowSeconds, requests: limit } = this.accounts.anonymous;
    return judge(this.#anonymous.take(ip, { limit, windowSeconds }));
  }

  /** Why the app of a request is refused; also undefined for a request without an app. */
  refusalOf(request: FastifyRequest): TaskError | undefined {
    return this.#known.get(request)?.refusal;
  }

  knownApp(request: FastifyRequest): KnownApp {
    const known = this.#known.get(request);
    if (!known) throw new TaskError('MISSING_AUTHORIZATION_HEADER');
    return known;
  }
}

interface KnownApp {
  readonly app: Account;
  /** Why the app is refused; sent once it is known how to answer. */
  readonly refusal: TaskError | undefined;
}

function refusalOf({ plan, freeApp }: Account, endpoint: string): TaskError | undefined {
  if (plan === 'free') return new TaskError('FREE_PLAN_DISALLOWED');
  return freeApp?.disabledEndpoints.has(taskPathOf(endpoint)) === true
    ? new TaskError('DISABLED_FOR_FREE_APP')
    : undefined;
}

/** Every answer carries the headers of section "Limits"; RETRY-AFTER only if the request was refused. */
function judge({ limit, remaining, resetSeconds, exceeded }: ReturnType<RateLimiter['take']>) {
  const headers = {
    'x-ratelimit-limit': limit,
    'x-ratelimit-remaining': remaining,
    'x-ratelimit-reset': resetSeconds,
    ...(exceeded && { 'retry-after': resetSeconds }),
  };
  const refusal = exceeded ? new TaskError('TOO_MANY_REQUESTS', { subject: String(resetSeconds) }) : undefined;
  return { headers, refusal };
}

/** Section "Limits": fixed windows, kept in memory. */

const maxWindows = 10_000;

/** Counts requests by key. A window begins with the first request after the last one; its limit may change meanwhile. */
export class RateLimiter {
  readonly #windows = new Map<string, { endsAt: number; used: number }>();
  readonly #now: () => number;

  /** `now`: milliseconds from a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    // Whole milliseconds: with fractions, a window of 2 s may be a hair longer and be reported as 3.
    this.#now = () => Math.floor(now());
  }

  /** Counts one request. A request beyond the limit is not counted: it changes nothing. */
  take(key: string, { limit, windowSeconds }: { limit: number; windowSeconds: number }) {
    const now = this.#now();
    const endsAt = now + windowSeconds * 1000;
    let window = this.#windows.get(key);
    if (!window || now >= window.endsAt) {
      window = { endsAt, used: 0 };
      this.#windows.delete(key);
      this.#windows.set(key, window);
      if (this.#windows.size > maxWindows) this.#makeRoom(now);
    }
    // The window may have been shortened meanwhile.
    window.endsAt = Math.min(window.endsAt, endsAt);
    const exceeded = window.used >= limit;
    if (!exceeded) window.used += 1;
    return {
      limit,
      remaining: Math.max(0, limit - window.used),
      /** Whole seconds until the window is certainly over. */
      resetSeconds: Math.max(1, Math.ceil((window.endsAt - now) / 1000)),
      exceeded,
    };
  }

  /** Oldest first: windows are in the order in which they began. */
  #makeRoom(now: number): void {
    for (const [key, { endsAt }] of this.#windows) {
      if (endsAt > now && this.#windows.size <= maxWindows) return;
      this.#windows.delete(key);
    }
  }
}
