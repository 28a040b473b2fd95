import { setTimeout as sleep } from 'node:timers/promises';
import { endpoints } from 'temporal-file-conversion/contract';
import type { Reply } from '../reply';
import { type Checks, inSection } from '../rule';
import type { Session } from '../session';
import { noId } from '../target';
import { ensure, ensureAccepted, ensureEqual, ensureMatches, show, Undecided } from '../verdict';
import { exceedLimit } from './errors';

/** "Limits": the rate-limit headers, and what happens when the limit is exceeded. */

const wholeNumber = /^\d+$/;
const maxWindowSeconds = 366 * 24 * 60 * 60;

/** Answers of every kind: a success of each endpoint, refusals of each status, and a request without a valid token. */
async function anyReplies(session: Session): Promise<[string, Reply][]> {
  return [
    ...(await session.validRequests()).map(({ path, reply }): [string, Reply] => [path, reply]),
    ['a refused request', await session.raw({ path: endpoints.taskResponse, body: '' })],
    ['a request without authorization', await session.raw({ path: endpoints.taskResponse, authorization: undefined })],
    ['an unknown path', await session.raw({ path: 'v1/unknown' })],
    ['another method', await session.raw({ method: 'GET', path: endpoints.taskResponse })],
  ];
}

function headerRule(name: string, meaning: string): Checks {
  return {
    [`Every response carries ${name}, ${meaning}`]: async (session) => {
      for (const [kind, reply] of await anyReplies(session)) {
        ensureMatches(reply.header(name), wholeNumber, `${name} of ${kind}`);
        // Seconds since 1970 would be a point in time, not a wait.
        const isTime = name === 'X-RATELIMIT-RESET' && Number(reply.header(name)) > maxWindowSeconds;
        ensure(!isTime, `${name} of ${kind} is ${reply.header(name) ?? ''}: no window takes as many seconds`);
      }
    },
  };
}

function numberOf(reply: Reply, name: string): number {
  const header = reply.header(name);
  // Another rule checks that it is present and a whole number.
  if (header === undefined || !wholeNumber.test(header)) throw new Undecided(`${name} is ${show(header)}`);
  return Number(header);
}

export const limitRules = inSection('Limits', {
  ...headerRule('X-RATELIMIT-LIMIT', 'the most requests in a window'),
  ...headerRule('X-RATELIMIT-REMAINING', 'the requests still allowed in the window'),
  ...headerRule('X-RATELIMIT-RESET', 'the seconds until the limit resets'),
  async 'X-RATELIMIT-REMAINING falls with each request of a window, and is below X-RATELIMIT-LIMIT'(session) {
    const connector = await session.uploaded();
    const first = await session.monitor(connector);
    const second = await session.monitor(connector);
    const [before, after] = [numberOf(first, 'X-RATELIMIT-REMAINING'), numberOf(second, 'X-RATELIMIT-REMAINING')];
    for (const [kind, reply] of [['a request', second] as const, ...(await anyReplies(session))]) {
      const [left, limit] = [numberOf(reply, 'X-RATELIMIT-REMAINING'), numberOf(reply, 'X-RATELIMIT-LIMIT')];
      ensure(left < limit, `REMAINING is ${left} and LIMIT ${limit} after ${kind}`);
    }
    // A new window may have begun in between.
    const isNewWindow = numberOf(second, 'X-RATELIMIT-RESET') > numberOf(first, 'X-RATELIMIT-RESET');
    ensure(after < before || isNewWindow, `REMAINING is ${before} and after one more request ${after}`);
  },
  async 'Upload tasks have a stricter limit than others'(session) {
    const upload = numberOf(await session.upload(), 'X-RATELIMIT-LIMIT');
    const others = numberOf(await session.monitor(await session.uploaded()), 'X-RATELIMIT-LIMIT');
    ensure(upload < others, `LIMIT is ${upload} for uploads and ${others} for task/response`);
  },
  async 'RETRY-AFTER comes only with the 429 error'(session) {
    for (const [kind, reply] of await anyReplies(session)) {
      if (reply.status !== 429) ensureEqual(reply.header('RETRY-AFTER'), undefined, `RETRY-AFTER of ${kind}`);
    }
  },
  async 'RETRY-AFTER is present when the limit is exceeded, in whole seconds'(session) {
    ensureMatches((await exceedLimit(session)).header('RETRY-AFTER'), wholeNumber, 'RETRY-AFTER');
  },
  async 'X-RATELIMIT-RESET has the value of RETRY-AFTER when the limit is exceeded'(session) {
    const reply = await exceedLimit(session);
    ensureEqual(numberOf(reply, 'X-RATELIMIT-RESET'), numberOf(reply, 'RETRY-AFTER'), 'X-RATELIMIT-RESET');
  },
  async 'X-RATELIMIT-REMAINING is 0 when the limit is exceeded'(session) {
    ensureEqual((await exceedLimit(session)).header('X-RATELIMIT-REMAINING'), '0', 'X-RATELIMIT-REMAINING');
  },
  async 'After the wait that it asked for, requests are let through and REMAINING starts again from LIMIT'(session) {
    const app = session.capability('rateLimitedApp');
    const exceeded = await exceedLimit(session);
    await sleep(numberOf(exceeded, 'RETRY-AFTER') * 1_000);
    ensureAccepted(await session.upload({ as: app }), 'an upload of the limited app after the wait');
    const monitored = await session.post(endpoints.taskResponse, { connector: noId }, { as: app, unpaced: true });
    ensure(monitored.status !== 429, 'a request after the wait was refused');
    const limit = numberOf(monitored, 'X-RATELIMIT-LIMIT');
    ensureEqual(
      numberOf(monitored, 'X-RATELIMIT-REMAINING'),
      limit - 1,
      'REMAINING after the first request of a window',
    );
  },
});
