import { parseHours, parseRetryAfter } from '../../src/contract/retry-after';
import { closeAll, connectTo, failureOf, sendJson, serve } from './loopback';

afterEach(closeAll);

describe('parseRetryAfter', () => {
  const now = Date.parse('2026-03-01T12:00:00Z');

  it.each([
    ['0', 0],
    ['17', 17],
    [' 17 ', 17],
    ['86400', 86400],
    ['0.2', 1],
  ])('reads %j as a number of seconds, never rounded down', (header, seconds) => {
    expect(parseRetryAfter(header, now)).toBe(seconds);
  });

  it.each(['Sun, 01 Mar 2026 12:01:30 GMT', 'Sunday, 01-Mar-26 12:01:30 GMT', 'Sun Mar  1 12:01:30 2026'])(
    'reads %j as the time until then, rounded up',
    (header) => expect(parseRetryAfter(header, now + 500)).toBe(90),
  );

  it('asks for no wait when the date has passed', () =>
    expect(parseRetryAfter('Sun, 01 Mar 2026 11:59:00 GMT', now)).toBe(0));

  it.each(['99999999999', '2678401', 'Sun, 01 Mar 2099 12:00:00 GMT'])('limits %j to 31 days', (header) => {
    expect(parseRetryAfter(header, now)).toBe(31 * 86_400);
  });

  it.each([[undefined], [''], ['-5'], ['soon'], ['1e3'], ['NaN'], ['Infinity'], ['2026-03-01']])(
    'ignores %j',
    (header) => expect(parseRetryAfter(header, now)).toBeUndefined(),
  );
});

it.each([408, 500, 502, 503, 504])(
  'a %d carries the RETRY-AFTER of its answer, even from a gateway',
  async (status) => {
    const { baseUrl } = await serve((response) => sendJson(response, 'Bad gateway', status, { 'retry-after': '3' }));
    const error = await failureOf(connectTo(baseUrl).taskResponse({ connector: 'c' }));
    expect(error).toMatchObject({ code: `HTTP_${status}`, retryAfterSeconds: 3 });
  },
);

it('a RETRY-AFTER with a 503 holds back the other requests of its class too', async () => {
  const { baseUrl, seen } = await serve((response) => sendJson(response, 'Away', 503, { 'retry-after': '3' }));
  const api = connectTo(baseUrl);
  await failureOf(api.taskResponse({ connector: 'c' }));
  const turn = { maxWaitMs: 0 };
  expect(await failureOf(api.taskResponse({ connector: 'd', turn }))).toMatchObject({ code: 'RATE_LIMIT_WAIT' });
  expect(seen).toHaveLength(1);
});

it('a rate-limit refusal carries RETRY-AFTER, whatever its status', async () => {
  const error = { code: 'TOO_MANY_REQUESTS', message: 'Rate limit exceeded; retry after 3 seconds.' };
  const { baseUrl } = await serve((response) => sendJson(response, { result: { error } }, 400, { 'retry-after': '3' }));
  const failure = await failureOf(connectTo(baseUrl).taskResponse({ connector: 'c' }));
  expect(failure).toMatchObject({ code: 'TOO_MANY_REQUESTS', retryAfterSeconds: 3 });
});

describe('FREE_APP_LIMITED', () => {
  it.each([
    ['The daily limit of the free app is reached; retry in 3 hours.', 3 * 3600],
    ['Try again after 1 hour', 3600],
    ['Please wait 0.5 Hours.', 1800],
    ['24hours', 24 * 3600],
  ])('reads the hours from %j', (message, seconds) => expect(parseHours(message)).toBe(seconds));

  it.each(['', 'Try again tomorrow.', 'retry in 0 hours', 'retry in -3 hours', 'retry in 9999 hours', '3 minutes'])(
    'finds no hours in %j',
    (message) => expect(parseHours(message)).toBeUndefined(),
  );

  const refuse = (headers: Record<string, string>) =>
    serve((response) => {
      const message = 'The daily limit of the free app is reached; retry in 3 hours.';
      sendJson(response, { result: { error: { code: 'FREE_APP_LIMITED', message } } }, 429, headers);
    });
  const submit = { connector: 'c', output: 'pdf' };

  it('without RETRY-AFTER waits for the hours in its message, and so do all other requests of its class', async () => {
    const { baseUrl, seen } = await refuse({ 'x-ratelimit-remaining': '5', 'x-ratelimit-reset': '3' });
    const api = connectTo(baseUrl);
    expect(await failureOf(api.convertFile(submit))).toMatchObject({ retryAfterSeconds: 10_800 });
    const next = await failureOf(api.convertFile(submit));
    expect(next).toMatchObject({ code: 'RATE_LIMIT_WAIT', mayHaveExecuted: false });
    expect(next.retryAfterSeconds).toBeGreaterThan(10_700);
    expect(seen).toHaveLength(1);
  });

  it('waits for RETRY-AFTER if there is one', async () => {
    const { baseUrl } = await refuse({ 'retry-after': '60' });
    expect(await failureOf(connectTo(baseUrl).convertFile(submit))).toMatchObject({ retryAfterSeconds: 60 });
  });
});
