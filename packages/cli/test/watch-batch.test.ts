import { watchBatch } from '../src/batch/watch';
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
