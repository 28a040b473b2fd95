import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { rigOfEachTest } from '../support/conversion-worker';
import { answerCompleted, answerNotYet, answerOutput, answerRunning } from '../support/stub-service';

/** From now on the clock of this machine, and so of its worker, is that much ahead; answers how to set it right. */
function shiftClock(aheadMs: number): () => void {
  const RightDate = Date;
  class WrongDate extends RightDate {
    static override now(): number {
      return RightDate.now() + aheadMs;
    }

    constructor(value?: number | string) {
      super(value ?? WrongDate.now());
    }
  }
  globalThis.Date = WrongDate as DateConstructor;
  return () => {
    globalThis.Date = RightDate;
  };
}

describe('the checks of a conversion', () => {
  let setRight: () => void = () => undefined;
  // Before the rig is closed.
  afterEach(() => setRight());
  const rig = rigOfEachTest();

  it.each([
    ['ahead', 3_600_000],
    ['behind', -3_600_000],
  ])('come as they should with a worker whose clock is an hour %s', async (_name, aheadMs) => {
    setRight = shiftClock(aheadMs);
    const startedMs = performance.now();
    rig.stub.on('task/response', (seen, response) => {
      const id = String(seen.data['connector']);
      const isEarly = performance.now() - startedMs < 6_000 || rig.stub.count('task/response') < 3;
      if (isEarly) answerNotYet(response, id);
      else answerCompleted(response, id);
    });
    const source = await rig.source('report.md');
    const result = await rig.client.convert({ source, output: 'pdf', policies: { firstCheckAfter: '200 ms' } });
    // After 0.2 s, 0.7 s or less, 1.5 s or more, and then some seconds each.
    expect(result.requests).toBeLessThanOrEqual(8);
  });
});

describe('the first check of a conversion', () => {
  const rig = rigOfEachTest();

  /** From now on conversions take this long, and the service says so. */
  function takeMs(durationMs: number): void {
    const submittedAt = new Map<string, number>();
    rig.stub.on('convert/file', (_seen, response) => {
      const id = randomUUID();
      submittedAt.set(id, Date.now());
      answerRunning(response, id);
    });
    rig.stub.on('task/response', (seen, response) => {
      const id = String(seen.data['connector']);
      const isDone = Date.now() - (submittedAt.get(id) ?? 0) >= durationMs;
      const entity = { id, type: 'task', status: isDone ? 'completed' : 'running' };
      const output = { connector: id, status: 'successful', duration: durationMs / 1_000 };
      answerOutput(response, { entity, result: isDone ? { output, error: {}, warning: {} } : {} });
    });
  }

  async function convert(index: number, output = 'pdf') {
    const destination = path.join(rig.folder, 'out', `${index}.${output}`);
    return rig.client.convert({ source: await rig.source(`report-${index}.md`), output, destination });
  }

  it('comes when the earlier ones of its formats were done, so that the next job needs one poll', async () => {
    takeMs(3_000);
    expect((await convert(1)).requests).toBe(6);
    rig.stub.requests.length = 0;
    const { requests } = await convert(2);
    expect(requests).toBe(5);
    expect(rig.stub.count('task/response')).toBe(1);
  });
});
