import { readRateHeaders } from '../../../src/http/rate-limit/headers';

const told = { limit: 10, remaining: 10, resetSeconds: 10 };

describe('the rate-limit headers', () => {
  it.each(['10', ' 10 ', '10.0', '10.', '+10', '010'])('are whole numbers in any spelling: %j', (value) => {
    const headers = { 'x-ratelimit-limit': value, 'x-ratelimit-remaining': value, 'x-ratelimit-reset': value };
    expect(readRateHeaders(200, headers)).toEqual({ throttled: false, ...told });
  });

  it.each(['', ' ', '10.5', '-10', '1e1', '0x10', '10 s', '10, 10', '1234567890123'])(
    'are ignored if they are not whole numbers: %j',
    (value) => {
      const headers = { 'x-ratelimit-limit': value, 'x-ratelimit-remaining': value, 'x-ratelimit-reset': value };
      expect(readRateHeaders(200, headers)).toEqual({ throttled: false });
    },
  );
});

describe('RETRY-AFTER', () => {
  it.each([
    ['+17', 17],
    ['17.0', 17],
  ])('is a whole number of seconds in any spelling: %j', (value, seconds) => {
    expect(readRateHeaders(429, { 'retry-after': value }).retryAfterSeconds).toBe(seconds);
  });

  it('as a date is relative to the DATE of the answer, not to the clock of this machine', () => {
    const headers = { date: 'Sun, 01 Mar 2026 12:00:00 GMT', 'retry-after': 'Sun, 01 Mar 2026 12:01:30 GMT' };
    expect(readRateHeaders(429, headers).retryAfterSeconds).toBe(90);
  });
});
