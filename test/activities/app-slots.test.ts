import { AppSlots, SlotsTakenError } from '../../src/activities/app-slots';

const taskQueue = 'files';

/** Activities of a worker, in the order of the SDK: the check runs once an activity has begun. */
function createWorker(apps: number, slotCount: number | undefined) {
  const slots = new AppSlots(apps);
  slots.use(taskQueue, slotCount);
  const begin = (app: string | undefined) => {
    let end = (): void => undefined;
    const { inbound } = slots.interceptor({ info: { taskQueue, isLocal: false } });
    void inbound?.execute?.({ args: [{ app }], headers: {} }, () => new Promise((resolve) => (end = () => resolve(1))));
    return end;
  };
  /** Begins an activity. Returns a function that ends it, or undefined if it was turned away. */
  const take = (app: string): (() => void) | undefined => {
    const end = begin(app);
    try {
      slots.check(taskQueue, app);
      return end;
    } catch (error) {
      if (!(error instanceof SlotsTakenError)) throw error;
      end();
      return undefined;
    }
  };
  const takeAll = async (app: string, wanted: number): Promise<(() => void)[]> => {
    const held = [];
    for (let count = 0; count < wanted; count += 1) {
      const end = take(app);
      if (end) held.push(end);
      else await Promise.resolve();
    }
    return held;
  };
  return { slots, begin, takeAll, take };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

it('an app alone takes all but a tenth of the slots', async () =>
  expect(await createWorker(2, 100).takeAll('slow', 200)).toHaveLength(90));

it('the others then find slots, up to their equal share', async () => {
  const { takeAll } = createWorker(2, 100);
  await takeAll('slow', 200);
  await settled();
  expect(await takeAll('quick', 10)).toHaveLength(10);
});

it('an app above its share gets back none of the slots that it releases until the others have theirs', async () => {
  const { takeAll, take } = createWorker(2, 100);
  const slow = await takeAll('slow', 200);
  await settled();
  await takeAll('quick', 10);
  for (const end of slow.slice(0, 20)) end();
  await settled();
  expect([(await takeAll('quick', 20)).length, take('slow')]).toEqual([20, undefined]);
});

it('each of many apps finds a slot even if several hold on to theirs', async () => {
  const { takeAll, take } = createWorker(5, 10);
  expect(await takeAll('a', 20)).toHaveLength(6);
  await settled();
  expect(await takeAll('b', 20)).toHaveLength(1);
  await settled();
  for (const app of ['c', 'd', 'e']) expect(take(app)).toBeDefined();
});

it('activities without an app take slots too', async () => {
  const { begin, takeAll } = createWorker(2, 10);
  for (let count = 0; count < 4; count += 1) begin(undefined);
  expect(await takeAll('slow', 20)).toHaveLength(5);
});

it.each([
  ['a single app', 1, 10],
  ['a worker that does not tell how many it has', 2, undefined],
])('%s has all slots', async (_name, apps, slotCount) => {
  expect(await createWorker(apps, slotCount).takeAll('app', 50)).toHaveLength(50);
});

it('activities that were turned away come back one after the other', async () => {
  const { slots, takeAll, begin } = createWorker(2, 2);
  await takeAll('slow', 1);
  begin('slow');
  const waits = [1, 2, 3].map(() => {
    try {
      slots.check(taskQueue, 'slow');
      return undefined;
    } catch (error) {
      return (error as SlotsTakenError).retryAfterMs;
    }
  });
  const [first = 0, second = 0, third = 0] = waits;
  expect(first).toBeGreaterThanOrEqual(1_000);
  expect(second - first).toBeGreaterThan(40);
  expect(third - second).toBeGreaterThan(40);
});
