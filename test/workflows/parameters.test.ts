import path from 'node:path';
import { DefaultLogger } from '@temporalio/worker';
import { lookAtJob } from '../../src/activities/look-at-job';
import { createLocalFiles } from '../../src/storage/local-files';
import { defined } from '../../src/job/defined';
import type { ConversionJobInput } from '../../src/job/types';
import { installQuietRuntime, rigOfAllTests } from '../support/conversion-worker';
import { until } from '../support/until';

/** Conversion parameters other than the formats. */

const logged: string[] = [];
// Installed before the rig installs its own runtime.
beforeAll(() =>
  installQuietRuntime(
    new DefaultLogger('DEBUG', (entry) => void logged.push(JSON.stringify(entry.meta) + entry.message)),
  ),
);
const rig = rigOfAllTests();

const request = (parameters: ConversionJobInput['parameters']) =>
  rig.request({ destination: undefined, ...(parameters && { parameters }) });
const submitted = () => rig.stub.requests.findLast((seen) => seen.path === 'convert/file')?.data['parameters'];

it('are sent to the service beside the output', async () => {
  await rig.client.convert(await request({ dpi: 300, page_size: 'a5', flatten: true }));
  expect(submitted()).toEqual({ output: 'pdf', dpi: 300, page_size: 'a5', flatten: true });
});

it('are absent from the input of a job without any, so that its identity does not change', async () =>
  expect((await rig.client.jobStart(await request({}))).args[0]).not.toHaveProperty('parameters'));

it('appear in no log line, whether the job succeeds or fails', async () => {
  rig.stub.fail('convert/file', 403, 'INVALID_PARAMETER');
  const failing = rig.client.convert(await request({ password: 'geheim-4711' }));
  await expect(failing).rejects.toMatchObject({ code: 'INVALID_PARAMETER' });
  rig.stub.asAlways('convert/file');
  await rig.client.convert(await request({ password: 'geheim-4711' }));
  // The worker flushes its log lines a moment later.
  await until('the failure is logged', () => logged.some((line) => line.includes('INVALID_PARAMETER')));
  expect(logged.filter((line) => line.includes('geheim-4711'))).toEqual([]);
});

it('make a different conversion: a job with other parameters is not taken for the same', async () => {
  const destination = path.join(rig.folder, 'report.pdf');
  const { workflowId, args } = await rig.client.jobStart({ ...(await request({ dpi: 300, pages: '1' })), destination });
  await (
    await rig.client.start({ ...(await request({ dpi: 300, pages: '1' })), destination }, { workflowId })
  ).result();
  const look = async (parameters: ConversionJobInput['parameters']) => {
    const expected = defined({ ...args[0], parameters });
    return (await lookAtJob({ client: rig.temporal, files: createLocalFiles() }, { workflowId, expected })).existing
      ?.isSame;
  };
  expect([await look({ pages: '1', dpi: 300 }), await look({ dpi: 150, pages: '1' })]).toEqual([true, false]);
  expect(await look(undefined)).toBe(false);
});
