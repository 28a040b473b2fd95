import { BatchFailedError } from '../../../src/client/batch-handle';
import type { BatchState } from '../../../src/shared/batch';
import { progressText, watchBatch } from '../src/batch/watch';
import type { CommandContext } from '../src/command-context';
import type { StackInUse } from '../src/stack/open-temporal';
import type { BatchHandle } from '../../../src/client/batch-handle';

const output = { isLive: false, live: () => undefined, say: () => undefined } as unknown as CommandContext['output'];
const stack = { untilClosed: (run: () => Promise<unknown>) => run() } as unknown as StackInUse;

/** A batch that ends once its state was asked for. */
function endingBatch(): BatchHandle {
  let askedFor: () => void;
  const asked = new Promise<void>((resolve) => (askedFor = resolve));
  const batch = {
    state() {
      askedFor();
      return Promise.reject(new Error('nobody answers'));
    },
    result: () => asked.then(() => ({ status: 'completed' })),
  };
  return batch as unknown as BatchHandle;
}

function timers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
}

describe('watching a batch', () => {
  it('leaves no timer when the batch has ended, which would keep the command from ending', async () => {
    const before = timers();
    const { signal } = new AbortController();

    const result = await watchBatch({ output } as CommandContext, { stack, batch: endingBatch(), signal });

    expect(result).toEqual({ result: { status: 'completed' } });
    // Jest's own may have run out meanwhile.
    expect(timers()).toBeLessThanOrEqual(before);
  });
});

it('is waited for while Temporal is away, and not when Temporal knows no such batch, or says that it failed', async () => {
  const { signal } = new AbortController();
  const refusedWith = (code: number, details: string) =>
    Object.assign(new Error(`${code}: ${details}`), { code, details });
  const batchThat = (result: () => Promise<unknown>) =>
    ({ result, state: () => Promise.reject(new Error('nobody answers')) }) as unknown as BatchHandle;
  const watched = (...ends: (Error | object)[]) => {
    const next = () => Promise.resolve(ends.shift()).then((end) => (end instanceof Error ? Promise.reject(end) : end));
    const batch = batchThat(next);
    return watchBatch({ output } as CommandContext, { stack: { ...stack, outlivesCommand: true }, batch, signal });
  };
  const away = refusedWith(14, 'no connection established');
  expect(await watched(away, away, { status: 'completed' })).toEqual({ result: { status: 'completed' } });
  const notFound = refusedWith(5, 'workflow not found');
  await expect(watched(notFound)).rejects.toBe(notFound);
  await expect(watched(new BatchFailedError('n', 'INVALID_BATCH', 'no.', {}))).rejects.toMatchObject({
    code: 'BATCH_FAILED',
  });
});

it('tells no end of a batch whose jobs wait for somebody: nobody knows it', () => {
  const counts = { items: 10, succeeded: 1, failed: 0, skipped: 0, cancelled: 0, inFlight: 2, vcredits: 0 };
  const state = { ...counts, status: 'running' } as unknown as BatchState;
  expect(progressText(state, 1)).toContain('9 s left');
  const needsAttention = { jobs: 2, code: 'INSUFFICIENT_VCREDITS', message: 'Buy some.' };
  expect(progressText({ ...state, needsAttention }, 1)).not.toContain('left');
});
