import { mapOrdered } from '../../src/batch/lines';
import { collect } from './folder';

async function* numbers(count: number) {
  for (let number = 0; number < count; number += 1) yield await Promise.resolve(number);
}

describe('mapOrdered', () => {
  it('keeps the order of its inputs, with the allowed number of steps in flight', async () => {
    let underWay = 0;
    let most = 0;
    const results = await collect(
      mapOrdered(numbers(20), { concurrency: 4 }, async (number) => {
        most = Math.max(most, (underWay += 1));
        // Later steps are faster.
        for (let turn = 20; turn > number; turn -= 1) await new Promise(setImmediate);
        underWay -= 1;
        return number * 2;
      }),
    );
    expect(results).toEqual(Array.from({ length: 20 }, (_, number) => number * 2));
    expect(most).toBe(4);
  });

  it('fails with the first step that fails, and waits for the others', async () => {
    let underWay = 0;
    const mapped = mapOrdered(numbers(20), { concurrency: 4 }, async (number) => {
      underWay += 1;
      for (let turn = 0; turn < number; turn += 1) await new Promise(setImmediate);
      underWay -= 1;
      if (number === 1) throw new Error('one');
    });
    await expect(collect(mapped)).rejects.toThrow('one');
    expect(underWay).toBe(0);
  });

  it('stops at once when it is aborted', async () => {
    const stop = new AbortController();
    let steps = 0;
    const mapped = mapOrdered(numbers(1000), { concurrency: 4, signal: stop.signal }, (number) => {
      steps += 1;
      if (number === 10) stop.abort(new Error('enough'));
      return Promise.resolve(number);
    });
    await expect(collect(mapped)).rejects.toThrow('enough');
    expect(steps).toBeLessThan(20);
  });
});
