import { type Endpoint, endpoints, classOfEndpoint } from '../../../src/contract/endpoints';
import { RateGate, RateLimitWaitError } from '../../../src/http/rate-limit/rate-gate';
import { SimulatedService } from './simulated-service';

/** Jobs with several requests each behind one gate, in simulated time. */

const windowMs = 10_000;
const steps = [
  endpoints.uploadFile,
  endpoints.convertFile,
  endpoints.taskResponse,
  endpoints.downloadUrl,
  endpoints.downloadUrlGet,
];

interface Seen {
  readonly endpoint: Endpoint;
  readonly atMs: number;
  readonly throttled: boolean;
}

/** Runs jobs concurrently on one or more workers. The service has a window for each result of `windowOf`. */
async function run(jobs: number, windowOf: (endpoint: Endpoint) => string, { limit = 10, workers = 1 } = {}) {
  const services = new Map<string, SimulatedService>();
  const gates = Array.from({ length: workers }, () => new RateGate());
  const seen: Seen[] = [];
  const startMs = performance.now();
  let done = 0;

  const request = async (gate: RateGate, endpoint: Endpoint, since: number): Promise<void> => {
    for (;;) {
      const permit = await gate.enter(endpoint, { since, maxWaitMs: 7_000 }).catch((error: unknown) => {
        if (error instanceof RateLimitWaitError) return error;
        throw error;
      });
      if (permit instanceof RateLimitWaitError) {
        await wait(permit.retryAfterMs);
        continue;
      }
      await wait(5);
      const service = services.get(windowOf(endpoint)) ?? new SimulatedService(limit, windowMs);
      services.set(windowOf(endpoint), service);
      const headers = service.answer(performance.now());
      seen.push({ endpoint, atMs: performance.now() - startMs, throttled: headers.throttled });
      await wait(5);
      permit.answered(headers);
      if (!headers.throttled) return;
    }
  };
  const job = async (index: number): Promise<void> => {
    const gate = gates[index % workers] ?? new RateGate();
    for (const endpoint of steps) await request(gate, endpoint, Date.now() + index / 1_000);
    done += 1;
  };
  const all = Promise.all(Array.from({ length: jobs }, (_, index) => job(index)));
  for (let turns = 0; turns < 2_000 && done < jobs; turns += 1) await jest.advanceTimersByTimeAsync(100);
  await all;
  return { seen, tookMs: performance.now() - startMs };
}

/** Fake timers don't replace `node:timers/promises`. */
function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

describe('one window over all endpoints', () => {
  it('is detected: each class is refused at most once, and never after its first answer', async () => {
    const jobs = 20;
    const { seen, tookMs } = await run(jobs, () => 'all');
    const answered = new Set<string>();
    for (const { endpoint, throttled } of seen) {
      expect(throttled && answered.has(classOfEndpoint(endpoint))).toBe(false);
      answered.add(classOfEndpoint(endpoint));
    }
    const windows = (jobs * steps.length) / 10;
    expect(tookMs).toBeLessThan((windows + 1) * windowMs);
  });

  it('costs few refusals when four workers share it', async () => {
    const { seen } = await run(80, () => 'all', { limit: 60, workers: 4 });
    expect(seen.filter(({ throttled }) => throttled).length).toBeLessThan(seen.length / 20);
  });

  it('serves all classes in turn', async () => {
    const { seen } = await run(20, () => 'all');
    expect(seen.slice(0, seen.length / 2).map(({ endpoint }) => classOfEndpoint(endpoint))).toContain('download');
  });
});

it('separate windows are each used in full', async () => {
  const jobs = 20;
  const { seen, tookMs } = await run(jobs, classOfEndpoint);
  expect(seen.filter(({ throttled }) => throttled)).toEqual([]);
  // Two downloads per job.
  expect(tookMs).toBeLessThan(((2 * jobs) / 10) * windowMs);
});
