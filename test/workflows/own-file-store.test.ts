import { ConversionFailedError, type ConversionHandle } from '../../src/client/conversion-handle';
import type { ConversionRequest } from '../../src/client/job-request';
import { StorageError } from '../../src/index';
import { rigOfAllTests } from '../support/conversion-worker';
import { MemoryFiles } from '../support/memory-files';

/** Jobs with files in a user-defined store, on a real Temporal server. */

const files = new MemoryFiles();
const openSource = files.openSource.bind(files);
const rig = rigOfAllTests({ stores: { memory: files } });

async function start(request: Partial<ConversionRequest> = {}): Promise<ConversionHandle> {
  files.files.clear();
  rig.stub.requests.length = 0;
  files.files.set('memory:///in/report.md', Buffer.from('# A report'));
  const places = { source: 'memory:///in/report.md', destination: 'memory:///out/' };
  return rig.client.start(await rig.request({ ...places, ...request }));
}

const attemptsOf = async ({ workflowId }: ConversionHandle): Promise<number[]> =>
  (await rig.events(workflowId)).flatMap((event) => event.activityTaskStartedEventAttributes?.attempt ?? []);

it('reads from the store and writes to it', async () => {
  const result = await (await start()).result();
  expect(result.output).toMatchObject({ uri: 'memory:///out/report.pdf', name: 'report.pdf', bytes: 9 });
  expect(files.files.get('memory:///out/report.pdf')?.toString()).toBe('PK result');
});

it.each([
  ['SOURCE_NOT_FOUND', { source: 'memory:///in/missing.md' }],
  ['UNSUPPORTED_URI', { source: 'elsewhere:///in/report.md', destination: 'memory:///elsewhere/' }],
  ['DESTINATION_IS_SOURCE', { destination: 'memory:///in/report.md' }],
])('fails the job at the first attempt, before any request, if the store reports %s', async (code, request) => {
  const job = await start(request);
  const failure: unknown = await job.result().catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ConversionFailedError);
  expect(failure).toMatchObject({ code });
  expect([await attemptsOf(job), rig.stub.requests]).toEqual([[1], []]);
});

it.each([
  [
    'says may pass',
    (uri: string) => new StorageError({ code: 'STORAGE_FAILED', message: 'busy', uri, retryable: true }),
  ],
  ['does not call a StorageError', () => new Error('503')],
])('retries an error that the store %s', async (title, error) => {
  let calls = 0;
  files.openSource = (uri) => {
    calls += 1;
    return calls === 1 ? Promise.reject(error(uri)) : openSource(uri);
  };
  const job = await start({ destination: `memory:///out/${title.replaceAll(' ', '-')}/` });
  expect(await job.result()).toMatchObject({ status: 'succeeded' });
  expect((await attemptsOf(job))[0]).toBe(2);
});
