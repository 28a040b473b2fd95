import { getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { keepRunning, startPersistently } from '../src/stack/supervise';

/** Keeps parts running that live for so long each, and tells the pause before each start. */
async function pausesOf(livesMs: readonly (number | 'unstartable')[], provenAfterMs: number): Promise<number[]> {
  const over = new AbortController();
  const [first = 0, ...others] = livesMs;
  const pauses: number[] = [];
  let endedAt = performance.now();
  await keepRunning<number>(Number(first), {
    async exited(lifeMs) {
      await sleep(lifeMs);
      endedAt = performance.now();
    },
    startAgain() {
      pauses.push(performance.now() - endedAt);
      endedAt = performance.now();
      const next = others.shift();
      if (next === undefined) over.abort();
      return Promise.resolve(next === 'unstartable' ? undefined : next);
    },
    onRestart: () => undefined,
    provenAfterMs,
    signal: over.signal,
  });
  return pauses;
}

it('waits twice as long each time that a part ends at once or cannot be started', async () => {
  const [first = 0, second = 0, third = 0] = await pausesOf([0, 0, 'unstartable'], 10_000);
  expect(first).toBeGreaterThan(200);
  expect(second).toBeGreaterThan(450);
  expect(third).toBeGreaterThan(950);
});

it('waits as shortly as at first after a part that ran for its time', async () => {
  const [, second = 0, third = 0] = await pausesOf([0, 0, 300], 200);
  expect(third).toBeLessThan(second);
});

it('listens to its signal once, however often the part ends', async () => {
  const over = new AbortController();
  const listeners: number[] = [];
  await keepRunning<string>('part', {
    exited: () => Promise.resolve(),
    startAgain() {
      listeners.push(getEventListeners(over.signal, 'abort').length);
      if (listeners.length === 2) over.abort();
      return Promise.resolve('part');
    },
    onRestart: () => undefined,
    provenAfterMs: 10_000,
    signal: over.signal,
  });
  expect(listeners).toEqual([1, 1]);
});

it('gives up a first start that fails for a reason of its own', async () => {
  let attempts = 0;
  const start = () => Promise.reject(new Error(String((attempts += 1))));
  const isWorthAnother = (error: unknown) => (error as Error).message === '1';
  await expect(startPersistently(start, { isWorthAnother, onRestart: () => undefined })).rejects.toThrow('2');
});
