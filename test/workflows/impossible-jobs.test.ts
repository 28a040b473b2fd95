import path from 'node:path';
import { ConversionFailedError } from '../../src/client/conversion-handle';
import type { ConversionRequest } from '../../src/client/job-request';
import type { ConversionRig } from '../support/conversion-worker';
import { quickPolicies, startRig } from '../support/conversion-worker';

describe('a job that nobody could do', () => {
  let rig: ConversionRig;

  beforeAll(async () => {
    rig = await startRig();
  });

  afterAll(async () => {
    await rig.close();
  });

  async function failureOf(overrides: Partial<ConversionRequest>): Promise<ConversionFailedError> {
    const request = { source: await rig.source('report.md'), output: 'pdf', policies: quickPolicies, ...overrides };
    const error: unknown = await rig.client.convert(request).catch((reason: unknown) => reason);
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

  it('fails an app profile that the worker does not have, and names those it has', async () => {
    const error = await failureOf({ app: 'elsewhere' });
    expect(error.code).toBe('UNKNOWN_APP');
    expect(error.message).toContain('stub');
  });

  it('fails a malformed input that an untyped parent sends, instead of hanging', async () => {
    const workflow = await rig.temporal.workflow.start('conversionJob', {
      workflowId: `malformed-${rig.taskQueue}`,
      taskQueue: rig.taskQueue,
      args: [{ app: 'stub', output: 'pdf', source: { uri: 'file:///a.md' }, policies: { uploadDeadline: 'soon' } }],
    });
    await expect(workflow.result()).rejects.toMatchObject({ cause: { type: 'INVALID_JOB' } });
  });
});
