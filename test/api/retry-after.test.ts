import { parseRetryAfter } from '../../src/shared/retry-after';
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
  ])('takes %j for a number of seconds, never rounded down', (header, seconds) => {
    expect(parseRetryAfter(header, now)).toBe(seconds);
  });

  it('takes an HTTP date for the time until then, rounded up', () => {
    expect(parseRetryAfter('Sun, 01 Mar 2026 12:01:30 GMT', now + 500)).toBe(90);
  });

  it('asks for no wait when the date has passed', () => {
    expect(parseRetryAfter('Sun, 01 Mar 2026 11:59:00 GMT', now)).toBe(0);
  });

  it.each([
    [undefined],
    [''],
    ['-5'],
    ['soon'],
    ['1e3'],
    ['NaN'],
    ['Infinity'],
    ['99999999999'],
    ['2026-03-01'],
    ['Sun, 01 Mar 2099 12:00:00 GMT'],
  ])('ignores %j', (header) => {
    expect(parseRetryAfter(header, now)).toBeUndefined();
  });
});

it('a 429 carries the RETRY-AFTER of its answer', async () => {
  const { baseUrl } = await serve((response) => {
    const error = { code: 'TOO_MANY_REQUESTS', message: 'Rate limit exceeded; retry after 17 seconds.' };
    sendJson(response, { result: { error } }, 429, { 'retry-after': '17', 'x-ratelimit-reset': '3' });
  });
  const error = await failureOf(connectTo(baseUrl).taskResponse({ connector: 'c' }));
  expect(error).toMatchObject({ code: 'TOO_MANY_REQUESTS', httpStatus: 429, retryAfterSeconds: 17 });
});
