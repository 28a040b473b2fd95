import path from 'node:path';
import { ConversionFailedError } from '../../src/client/conversion-handle';
import type { ConversionRequest } from '../../src/client/job-request';
import { quickPolicies, rigOfAllTests } from '../support/conversion-worker';

describe('an impossible job', () => {
  const rig = rigOfAllTests();

  async function failureOf(overrides: Partial<ConversionRequest>): Promise<ConversionFailedError> {
    const request = rig.request({ destination: undefined, ...overrides });
    const error: unknown = await rig.client.convert(await request).catch((reason: unknown) => reason);
    if (!(error instanceof ConversionFailedError)) throw new Error('the job did not fail', { cause: error });
    return error;
  }

  it.each([
    ['a missing file', 'missing.md', 'SOURCE_NOT_FOUND'],
    ['a folder', '.', 'SOURCE_IS_DIRECTORY'],
  ])('fails at once on %s', async (_title, name, code) => {
    expect((await failureOf({ source: path.join(rig.folder, name) })).code).toBe(code);
    expect(rig.stub.requests).toHaveLength(0);
  });

  it('waits until its deadline for a worker that has its app profile, and names the profiles of this worker', async () => {
    const error = await failureOf({
      app: 'elsewhere',
      // One attempt at once, one just before the deadline, and none in flight when it passes.
      policies: { ...quickPolicies, uploadDeadline: 4_000, retryInitialInterval: 90_000, retryMaximumInterval: 90_000 },
    });
    expect(error.code).toBe('UPLOAD_DEADLINE');
    expect(error.message).toContain('stub');
  });

  const job = { app: 'stub', output: 'pdf', source: { uri: 'file:///a.md' } };
  const largeItems = Array.from({ length: 300 }, (_, item) => ({
    source: `file:///${'s'.repeat(2_000)}`,
    output: 'pdf',
    destination: `file:///${item}.pdf`,
  }));
  it.each([
    ['conversionJob', 'no input', undefined],
    ['conversionJob', 'null', null],
    ['conversionJob', 'a text', 'a.md'],
    ['conversionJob', 'an empty object', {}],
    ['conversionJob', 'a source that is a text', { ...job, source: 'a.md' }],
    ['conversionJob', 'no source', { ...job, source: null }],
    ['conversionJob', 'a source of neither kind', { ...job, source: {} }],
    ['conversionJob', 'a name that is none', { ...job, source: { connector: 'c', name: 5 } }],
    ['conversionJob', 'an output that is none', { ...job, output: 5 }],
    ['conversionJob', 'an input format that is none', { ...job, input: {} }],
    ['conversionJob', 'a destination that is none', { ...job, destination: 5 }],
    ['conversionJob', 'parameters that are a text', { ...job, parameters: 'dpi=300' }],
    ['conversionJob', 'policies that are a text', { ...job, policies: 'strict' }],
    ['conversionJob', 'a duration that is none', { ...job, policies: { uploadDeadline: 'soon' } }],
    ['conversionJob', 'a duration that is an object', { ...job, policies: { uploadDeadline: {} } }],
    ['conversionJob', 'a choice that is none', { ...job, onExisting: 'destroy' }],
    ['conversionJob', 'earlier runs that are none', { ...job, earlier: { charge: 'much' } }],
    ['conversionBatch', 'no input', undefined],
    ['conversionBatch', 'null', null],
    ['conversionBatch', 'an empty object', {}],
    ['conversionBatch', 'an item that is null', { app: 'stub', items: [null] }],
    ['conversionBatch', 'items that no further run could be handed', { app: 'stub', items: largeItems }],
    ['conversionSweep', 'no input', undefined],
    ['conversionSweep', 'null', null],
    ['conversionSweep', 'settings without policies', { batch: 'b', plan: {}, settings: null }],
  ])('%s fails on %s instead of hanging', async (type, title, input) => {
    const workflow = await rig.temporal.workflow.start(type, {
      workflowId: `malformed-${type}-${title}-${rig.taskQueue}`,
      taskQueue: rig.taskQueue,
      args: input === undefined ? [] : [input],
    });
    const expected = {
      conversionJob: 'INVALID_JOB',
      conversionBatch: 'INVALID_BATCH',
      conversionSweep: 'INVALID_SWEEP',
    };
    await expect(workflow.result()).rejects.toMatchObject({ cause: { type: expected[type as keyof typeof expected] } });
  });
});
