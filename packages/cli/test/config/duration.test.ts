import { writtenDuration, parseDurationMs } from '../../src/config/duration';

describe('parseDurationMs', () => {
  it.each([
    ['7 days', 604_800_000],
    ['1 day', 86_400_000],
    ['1.5h', 5_400_000],
    ['90 s', 90_000],
    ['10 Minutes', 600_000],
    ['250ms', 250],
  ])('reads %s', (text, ms) => expect(parseDurationMs(text)).toBe(ms));

  it.each([
    '',
    '10',
    'days',
    '-1 day',
    '0 days',
    '1 fortnight',
    '1 day 2 hours',
    '0.0001 ms',
    '9e9 days',
    '99999999999999 days',
  ])('refuses "%s"', (text) => expect(parseDurationMs(text)).toBeUndefined());
});

it.each([
  [604_800_000, '7 days'],
  [3_600_000, '1 hour'],
  [90_000, '90 seconds'],
  [250, '250 milliseconds'],
])('writtenDuration writes %i in the largest whole unit', (ms, text) => {
  expect(writtenDuration(ms)).toBe(text);
  expect(parseDurationMs(text)).toBe(ms);
});
