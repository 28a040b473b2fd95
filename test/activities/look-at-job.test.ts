import path from 'node:path';
import { Readable } from 'node:stream';
import { lookAtJob } from '../../src/activities/look-at-job';
import { toJobInput } from '../../src/client/job-request';
import { StorageError } from '../../src/storage/errors';
import { createLocalFiles } from '../../src/storage/local-files';
import { quickPolicies, startRig, type ConversionRig } from '../support/conversion-worker';

let rig: ConversionRig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.close());

it('a job that has ended counts as open while its result cannot be read, so that others do not wait for that', async () => {
  const source = await rig.source('a.md');
  const destination = path.join(rig.folder, 'a.pdf');
  const request = { source, output: 'pdf', destination, describeSource: true, policies: quickPolicies };
  const job = await rig.client.start(request);
  await job.result();
  const files = createLocalFiles();
  const failing = {
    ...files,
    read: (uri: string) =>
      new Readable({
        read() {
          this.destroy(new StorageError({ code: 'STORAGE_FAILED', message: 'cut', uri, retryable: true }));
        },
      }),
  };
  const looked = { workflowId: job.workflowId, expected: toJobInput(request, 'stub') };
  const lookWith = (through: typeof files) =>
    lookAtJob({ client: rig.temporal, files: through }, looked, AbortSignal.timeout(20_000));
  expect(await lookWith(files)).toMatchObject({ isSame: true, isDelivered: true, outcome: { status: 'succeeded' } });
  expect(await lookWith(failing)).toEqual({ runId: expect.any(String) as string, isSame: true });
});
