import { mkdir, mkdtemp } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { BatchFailedError, type BatchHandle } from '../../../src/client/batch-handle';
import type { BatchState } from '../../../src/batch/model/state';
import { progressText } from '../../../src/batch/model/progress';
import { testTemporalAddress } from '../../../test/support/temporal';
import { watchBatch } from '../src/batch/watch';
import type { CommandContext } from '../src/command-context';
import { loadConfig } from '../src/config/load-config';
import type { StackInUse } from '../src/stack/connect';
import { removeStackRecord, writeStackRecord } from '../src/stack/stack-record';

const output = { isLive: false, live: () => undefined, say: () => undefined } as unknown as CommandContext['output'];
const stack = { untilClosed: (run: () => Promise<unknown>) => run() } as unknown as StackInUse;

/** A batch that ends as soon as its state is queried. */
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

const timers = (): number => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;

it('leaves no timer after the end of the batch, which would keep the command alive', async () => {
  const before = timers();
  const { signal } = new AbortController();

  const result = await watchBatch({ output } as CommandContext, { stack, batch: endingBatch(), signal });

  expect(result).toEqual({ status: 'completed' });
  // A timer of jest may have fired meanwhile.
  expect(timers()).toBeLessThanOrEqual(before);
});

describe('a batch whose stack was stopped, while another server answers at its address', () => {
  let cwd: string;
  let context: CommandContext;
  const dir = () => context.config.values.state.dir;
  const notFound = Object.assign(new Error('5 NOT_FOUND: workflow not found'), {
    code: 5,
    details: 'workflow not found',
  });

  beforeEach(async () => {
    cwd = await mkdtemp(path.join(os.tmpdir(), 'fileconv-test-'));
    const config = await loadConfig({ cwd, env: {} });
    context = { output, config, env: {}, cwd, secrets: {} } as unknown as CommandContext;
    await mkdir(dir(), { recursive: true });
  });

  const recordOf = (address: string) => ({
    pid: process.pid,
    startedBy: 'up' as const,
    since: new Date().toISOString(),
    temporal: { address, namespace: 'default' },
    service: { url: 'http://127.0.0.1:1' },
    taskQueue: 'q',
  });
  const stackAt = (address: string) => ({ ...stack, address, isLocal: true, outlivesCommand: true });
  const batchThat = (result: () => Promise<unknown>) =>
    ({ result, state: () => Promise.reject(new Error('nobody answers')) }) as unknown as BatchHandle;
  const { signal } = new AbortController();

  it('tells the command to start again if the stack has moved, whatever the old address answers', async () => {
    await writeStackRecord(dir(), recordOf(testTemporalAddress()));
    const batch = batchThat(() => Promise.resolve({ status: 'completed' }));
    await expect(watchBatch(context, { stack: stackAt('127.0.0.1:1'), batch, signal })).rejects.toThrow(
      `was started again at another address (${testTemporalAddress()}). The same command again waits for the rest there.`,
    );
  });

  it('is reported as unknown by its own running stack, and as failed by a stack that just stopped', async () => {
    await writeStackRecord(dir(), recordOf('127.0.0.1:1'));
    const unknown = { stack: stackAt('127.0.0.1:1'), batch: batchThat(() => Promise.reject(notFound)), signal };
    await expect(watchBatch(context, unknown)).rejects.toBe(notFound);
    await removeStackRecord(dir());
    const failure = new BatchFailedError('n', 'INVALID_BATCH', 'no.', {});
    const failed = { ...unknown, batch: batchThat(() => Promise.reject(failure)) };
    await expect(watchBatch(context, failed)).rejects.toMatchObject({ code: 'BATCH_FAILED' });
  });
});

it('predicts no end for a batch with parked jobs', () => {
  const counts = { items: 10, succeeded: 1, failed: 0, skipped: 0, cancelled: 0, inFlight: 2, vcredits: 0 };
  const state = { ...counts, status: 'running' } as unknown as BatchState;
  expect(progressText(state, 1)).toContain('9 s left');
  const needsAttention = { jobs: 2, code: 'INSUFFICIENT_VCREDITS', message: 'Buy some.', since: 1 };
  expect(progressText({ ...state, needsAttention }, 1)).not.toContain('left');
});
