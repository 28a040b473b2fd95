import { KnownRefusalError, RefusalWatch, type Probe } from '../../src/activities/refusal-watch';

const key = 'billing';
const minute = 60_000;
const refusal = { code: 'INVALID_CREDENTIAL', message: 'The app token is not valid.' };
let now = 1_000_000;
let watch: RefusalWatch;

beforeEach(() => {
  watch = new RefusalWatch(() => now);
  end(ask());
});

const ask = (options: { readyAt?: number; isParked?: boolean; anyway?: boolean } = {}): Probe =>
  watch.ask({ key, isParked: true, ...options });

function end(probe: Probe): void {
  probe.refused(refusal);
  probe.ended();
}

it('one refusal after the app was declared ready counts for all jobs that got the same signal', () => {
  const readyAt = now + 5_000;
  end(ask({ readyAt }));
  for (let job = 0; job < 1_000; job += 1) expect(() => ask({ readyAt })).toThrow(KnownRefusalError);
});

it('a newer signal lets jobs ask again at once, and resets the pauses', () => {
  for (let probe = 0; probe < 5; probe += 1) {
    now += 60 * minute;
    end(ask());
  }
  const probe = ask({ readyAt: now });
  expect(probe.refused(refusal)).toBe(minute);
});

it('parked jobs are told of an accepted job if their next probe is far off', () => {
  now += minute;
  end(ask());
  expect(ask({ isParked: false, anyway: true }).accepted()).toBe(false);
  for (let probe = 0; probe < 5; probe += 1) {
    end(ask());
    now += 60 * minute;
  }
  expect(ask({ isParked: false, anyway: true }).accepted()).toBe(true);
  expect(ask({ isParked: false, anyway: true }).accepted()).toBe(false);
});

it('concurrent refusals do not each lengthen the pause', () => {
  Array.from({ length: 10 }, () => ask({ readyAt: now })).forEach(end);
  now += minute;
  end(ask({ readyAt: now - 1 }));
  now += minute - 1;
  expect(() => ask({ readyAt: now - minute })).toThrow(KnownRefusalError);
});

it('many parked jobs probe five times in the first hour, one at a time', () => {
  let probes = 0;
  for (const end = now + 60 * minute; now < end; now += 15_000) {
    for (let job = 0; job < 10; job += 1) {
      try {
        const probe = ask();
        probes += 1;
        expect(() => ask()).toThrow(KnownRefusalError);
        probe.refused(refusal);
        probe.ended();
      } catch (error) {
        if (!(error instanceof KnownRefusalError)) throw error;
        expect(error.waitMs).toBeGreaterThan(0);
      }
    }
  }
  expect(probes).toBe(5);
});

it('while one probes, the others come back soon, and later the longer it takes', () => {
  now += minute;
  const probe = ask();
  expect(waitOf()).toBe(5_000);
  now += 30_000;
  expect(waitOf()).toBe(30_000);
  probe.accepted();
  expect(() => ask()).not.toThrow();
});

it('a probe without an answer leaves the next probe to another job', () => {
  now += minute;
  ask().ended();
  expect(() => ask()).not.toThrow();
});

it('a job that is not parked accepts only a recent refusal, and then one probes soon', () => {
  for (let probe = 0; probe < 5; probe += 1) {
    now += 60 * minute;
    end(ask());
  }
  expect(() => ask()).toThrow(KnownRefusalError);
  expect(() => ask({ isParked: false })).toThrow(KnownRefusalError);
  now += minute / 3;
  expect(() => ask()).not.toThrow();
});

it('a job that asks anyway does not affect the pauses of others', () => {
  end(ask({ anyway: true }));
  expect(waitOf()).toBe(minute);
});

it('a clock that is set back prolongs no pause', () => {
  now -= 24 * 60 * minute;
  expect(() => ask()).not.toThrow();
});

function waitOf(): number {
  try {
    ask().ended();
    return 0;
  } catch (error) {
    if (error instanceof KnownRefusalError) return error.waitMs;
    throw error;
  }
}
