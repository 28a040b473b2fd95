import { ProcessPulse, elapsedMs, type Moment } from '../../src/activities/acknowledged-heartbeat';

function startAt(moment: Moment) {
  const clock = { ...moment };
  const pulse = new ProcessPulse(() => ({ ...clock }));
  const pass = (monotonicMs: number, wallMs = monotonicMs) => {
    clock.monotonicMs += monotonicMs;
    clock.wallMs += wallMs;
  };
  return { pulse, pass };
}

it('remembers for a while that the process was suspended, and does not mistake being busy for it', () => {
  const { pulse, pass } = startAt({ monotonicMs: 5, wallMs: 1_000_000 });
  pass(2_500);
  expect(pulse.hasWokenWithin(10_000)).toBe(false);
  pass(3_500);
  expect(pulse.hasWokenWithin(10_000)).toBe(true);
  for (let second = 0; second < 9; second += 1) {
    pass(1_000);
    pulse.beat();
  }
  expect(pulse.hasWokenWithin(10_000)).toBe(true);
  pass(1_000);
  expect(pulse.hasWokenWithin(10_000)).toBe(false);
});

it('notices the sleep of a machine, in which only the wall clock continues', () => {
  const { pulse, pass } = startAt({ monotonicMs: 5, wallMs: 1_000_000 });
  pass(10, 3_600_000);
  expect(pulse.hasWokenWithin(10_000)).toBe(true);
});

it('ignores a clock that was set back, and still counts the time that passed meanwhile', () =>
  expect(elapsedMs({ monotonicMs: 0, wallMs: 5_000 }, { monotonicMs: 700, wallMs: -3_600_000 })).toBe(700));
