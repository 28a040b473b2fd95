import { mkdtemp, readdir } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { ConversionHandle } from '../../src/client/conversion-handle';
import type { ConversionRequest } from '../../src/client/job-request';
import { inspectJob } from '../../src/client/operations/inspect-job';
import { createLocalFiles } from '../../src/storage/local-files';
import { rigOfAllTests } from '../support/conversion-worker';
import { MemoryFiles } from '../support/memory-files';
import { answerCompleted, answerError } from '../support/stub-service';
import { until } from '../support/until';

/** Workers on several simulated hosts; `test/recovery/machines.slow.test.ts` uses real ones. */

const rig = rigOfAllTests({ stores: { memory: new MemoryFiles() } });
const sharing = rigOfAllTests({ stores: { file: createLocalFiles({ isShared: true }) } });
let out: string;

/** The host of the worker that takes the next step. */
const hostname = jest.spyOn(os, 'hostname');
const moveTo = (host: string) => hostname.mockReturnValue(host);

afterAll(() => hostname.mockRestore());

beforeEach(async () => {
  moveTo('first');
  // Each test has its own destination: a job would continue from what the last one with the same destination left.
  out = await mkdtemp(path.join(rig.folder, 'out-'));
  for (const { stub } of [rig, sharing]) {
    stub.requests.length = 0;
    stub.conversions.clear();
    stub.asAlways('convert/file', 'task/response', 'upload/file');
  }
});

const start = async (request: Partial<ConversionRequest> = {}, { client } = rig): Promise<ConversionHandle> =>
  client.start(await rig.request({ destination: `${out}/`, ...request }));

/** Lets a worker on another host take the step after this request. */
const moveAt = (endpoint: string, { stub } = rig): void =>
  stub.on(endpoint, (seen, response) => {
    moveTo('other');
    stub.answerAsAlways(seen, response);
  });

async function untilItWaits(job: ConversionHandle): Promise<void> {
  const waiting = () => inspectJob(rig.temporal, job.workflowId).then((found) => found.waiting);
  await until('it says what it waits for', async () => (await waiting())?.reason === 'worker');
  expect(await waiting()).toMatchObject({
    waitsFor: 'a worker on the host that uploaded the source',
    because: expect.stringMatching(/on other, .* uploaded on first, .*worker\.shared_files = "on"/) as string,
  });
}

async function expectInPlace(job: ConversionHandle, { stub } = rig): Promise<void> {
  expect(await job.result()).toMatchObject({ status: 'succeeded', charge: 'yes', possiblyChargedTwice: false });
  expect([stub.conversions.size, await readdir(out)]).toEqual([1, ['report.pdf']]);
}

describe('a job with a local destination folder whose next step is taken on another host', () => {
  it('pays for nothing, says so, and continues on the host of its upload', async () => {
    moveAt('upload/file');
    const job = await start();
    await untilItWaits(job);
    expect(rig.stub.count('convert/file')).toBe(0);
    moveTo('first');
    await expectInPlace(job);
  });

  it('downloads its result on the host of its upload and nowhere else', async () => {
    rig.stub.on('task/response', (seen, response) => {
      moveTo('other');
      answerCompleted(response, seen.connector);
    });
    const job = await start();
    await untilItWaits(job);
    expect([rig.stub.count('download/url'), await readdir(out)]).toEqual([0, []]);
    moveTo('first');
    await expectInPlace(job);
  });

  it('uploads again only on the host of its first upload', async () => {
    rig.stub.on('convert/file', (_seen, response) => {
      moveTo('other');
      rig.stub.asAlways('convert/file');
      answerError(response, 404, 'FILE_NOT_EXISTS');
    });
    const job = await start();
    await untilItWaits(job);
    expect(rig.stub.count('upload/file')).toBe(1);
    moveTo('first');
    await expectInPlace(job);
  });

  it('continues at once if the workers share their files', async () => {
    moveAt('upload/file', sharing);
    await expectInPlace(await start({}, sharing), sharing);
  });
});

it.each([
  ['an object store', 'memory:///out/report.pdf'] as const,
  ['nowhere, as it stays at the service', undefined] as const,
])('a job that writes to %s continues on any host', async (_where, destination) => {
  moveAt('upload/file');
  const job = await rig.client.start(await rig.request({ destination }));
  expect(await job.result()).toMatchObject({ status: 'succeeded', charge: 'yes' });
});

it('a job that is cancelled or fails before its download leaves nothing in the folder, and needs no extra step for that', async () => {
  rig.stub.complete({ error: { code: 'CORRUPT_FILE', message: 'no.' } });
  const job = await start();
  await expect(job.result()).rejects.toMatchObject({ details: { phase: 'converting' } });
  expect(await rig.steps(job.workflowId)).toEqual(['uploadFile', 'convertFile', 'checkTask']);
  expect(await readdir(out)).toEqual([]);
});
