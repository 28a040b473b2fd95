import { mkdir, readFile, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConversionFailedError } from '../../src/client/conversion-handle';
import type { ItemWaits } from '../../src/batch/model/types';
import { createLocalFiles } from '../../src/storage/local-files';
import { cleanUp, enlarge, mountMemory } from '../storage/folder';
import { begunDownloads } from '../support/begun-downloads';
import { endBatch, planRun, startRun } from '../support/batches';
import { quickPolicies, rigOfEachTest } from '../support/conversion-worker';
import { until } from '../support/until';

/** A full destination: nothing is paid for in vain, and everything continues automatically once there is room. */

const megabyte = 1024 ** 2;

/** Simulated size of a folder in bytes; folders without an entry use the real free space. */
const budgets = new Map<string, number>();

const files = createLocalFiles({
  async freeBytes(folder) {
    const budget = budgets.get(folder);
    if (budget === undefined) return undefined;
    const names = await readdir(folder);
    const sizes = await Promise.all(names.map((name) => stat(path.join(folder, name)).catch(() => ({ size: 0 }))));
    return budget - sizes.reduce((sum, { size }) => sum + size, 0);
  },
});

const rig = rigOfEachTest({ stores: { file: files } });
afterEach(cleanUp);

async function makeOut(bytes: number): Promise<string> {
  const out = path.join(rig.folder, 'out');
  await mkdir(out);
  budgets.set(out, bytes);
  return out;
}

describe('a job', () => {
  it('does not submit while there is clearly no room for the result, says so, and continues on its own', async () => {
    const out = await makeOut(100);
    const source = await rig.source('report.md', Buffer.alloc(200, 'x'));
    const job = await rig.client.start({ source, output: 'pdf', destination: `${out}/`, policies: quickPolicies });
    await until('it says so', async () => (await rig.details(job.workflowId)).includes('No room at '));
    expect(await job.state()).toMatchObject({ phase: 'parked', parkedFor: 'room' });
    expect(await rig.details(job.workflowId)).toContain('`DESTINATION_FULL`: Cannot write ');
    await until('it has looked again', async () => {
      return ((await job.describe()).raw.pendingActivities?.[0]?.attempt ?? 0) > 3;
    });
    expect(rig.stub.count('convert/file')).toBe(0);
    budgets.set(out, 1_000);
    expect(await job.result()).toMatchObject({ status: 'succeeded', charge: 'yes' });
    expect(rig.stub.requests.map((seen) => seen.path)).toEqual([
      'upload/file',
      'convert/file',
      'task/response',
      'download/url',
      'download/url/get',
    ]);
    expect(await rig.details(job.workflowId)).not.toContain('No room');
  });

  it('whose result does not fit waits in one activity, and downloads it once there is room', async () => {
    rig.stub.output = Buffer.alloc(500, 'PK');
    const out = await makeOut(100);
    const source = await rig.source('report.md', 'small');
    const job = await rig.client.start({ source, output: 'pdf', destination: `${out}/`, policies: quickPolicies });
    await until('it says so', async () => (await rig.details(job.workflowId)).includes('No room at '));
    await until('it has looked again', async () => {
      return ((await job.describe()).raw.pendingActivities?.[0]?.attempt ?? 0) > 3;
    });
    expect(await job.state()).toMatchObject({ phase: 'parked', parkedFor: 'room' });
    expect(await begunDownloads(out)).toEqual([]);
    // A result that does not fit is not requested again before it can fit.
    expect(rig.stub.count('download/url')).toBe(1);
    budgets.set(out, 1_000);
    expect(await job.result()).toMatchObject({ status: 'succeeded', output: { bytes: 500 }, requests: 7 });
    expect(rig.stub.count('convert/file')).toBe(1);
    expect(await rig.steps(job.workflowId)).toEqual([
      'uploadFile',
      'convertFile',
      'checkTask',
      'downloadFile',
      'downloadFile',
    ]);
  });

  it.each([
    ['before the submit', 200, 10, 0],
    ['after the conversion', 10, 200, 1],
  ])('fails at the deadline of parked jobs if there is still no room: %s', async (_title, source, result, submits) => {
    rig.stub.output = Buffer.alloc(result, 'PK');
    const out = await makeOut(100);
    const request = { source: await rig.source('report.md', Buffer.alloc(source, 'x')), output: 'pdf' };
    const policies = { ...quickPolicies, submitTimeout: '1 second', parkedDeadline: '2 seconds' };
    const error: unknown = await rig.client
      .convert({ ...request, destination: `${out}/`, policies })
      .catch((reason: unknown) => reason);
    if (!(error instanceof ConversionFailedError)) throw new Error('it did not fail', { cause: error });
    expect(error.code).toBe('DESTINATION_FULL');
    expect(error.message).toContain('Make room');
    expect(error.details).toMatchObject({ charge: submits === 0 ? 'no' : 'yes' });
    expect(rig.stub.count('convert/file')).toBe(submits);
  });
});

describe('a batch', () => {
  it('starts no more jobs while one in flight waits for a person, says why, and then continues on its own across its runs', async () => {
    const held = rig.stub.hold();
    const run = await planRun(rig.folder, 9, { request: { window: 3, historyLimit: 30 } });
    const handle = await startRun(rig.client, run.request);
    await until('the window is full', () => rig.stub.count('convert/file') === 3);
    const tell = (item: number, over: boolean) =>
      rig.temporal.workflow.getHandle(run.name).signal<[ItemWaits]>('conversionItemWaits', {
        workflowId: run.jobId(item),
        code: 'DESTINATION_FULL',
        message: 'No room at out. Make room.',
        over,
      });
    await tell(1, false);
    await tell(2, false);
    await tell(7, false);
    await rig.temporal.workflow.getHandle(run.jobId(3)).terminate('to free a place in the window');
    const needsAttention = { code: 'DESTINATION_FULL', message: 'No room at out. Make room.', jobs: 2 };
    await until('one has ended', async () => (await handle.state()).failed === 1);
    expect(await handle.state()).toMatchObject({ status: 'running', inFlight: 2, needsAttention });
    expect(await rig.details(run.name)).toContain('`DESTINATION_FULL`: No room at out. Make room.');
    expect(rig.stub.count('upload/file')).toBe(3);
    await tell(1, true);
    expect((await handle.state()).needsAttention).toMatchObject({ jobs: 1 });
    held.letGo();
    const { result } = await endBatch(handle, run);
    expect(result).toMatchObject({ status: 'completed', succeeded: 8, failed: 1 });
    expect(result.needsAttention).toBeUndefined();
  });

  it('of 40 files of 1 MB with room for 9 pays for few more than fit, and delivers all once there is room', async () => {
    const window = 4;
    // A user without the right to mount gets a folder whose limit the store simulates.
    const mounted = await mountMemory('size=9m');
    const out = mounted ?? (await makeOut(9 * megabyte));
    rig.stub.output = Buffer.alloc(megabyte, 'PK');
    const run = await planRun(rig.folder, 40, {
      request: { window },
      change: (row) => ({ ...row, destination: pathToFileURL(path.join(out, `${row.item}.pdf`)).href }),
    });
    const handle = await startRun(rig.client, run.request);
    // Once the first job has to wait, no new one starts. Concurrent downloads may take the last megabyte from each other: then all wait
    // with 8 delivered, and the first to look again gets it.
    await until('all in flight wait, and nothing more fits', async () => {
      const { inFlight, succeeded, needsAttention } = await handle.state();
      return inFlight > 0 && needsAttention?.jobs === inFlight && succeeded >= 9;
    });
    const full = await handle.state();
    expect(full).toMatchObject({ status: 'running', failed: 0, succeeded: 9 });
    expect(full.needsAttention).toMatchObject({ code: 'DESTINATION_FULL' });
    expect(rig.stub.count('convert/file')).toBeLessThanOrEqual(9 + window);

    if (mounted === undefined) budgets.set(out, 41 * megabyte);
    else enlarge(mounted, 'size=41m');
    const { result } = await endBatch(handle, run);
    expect(result).toMatchObject({ status: 'completed', succeeded: 40, failed: 0, possiblyChargedTwice: 0 });
    expect(rig.stub.count('convert/file')).toBe(40);
    expect((await readdir(out)).sort()).toEqual(run.items.map(({ item }) => `${item}.pdf`).sort());
    expect((await readFile(path.join(out, '40.pdf'))).length).toBe(megabyte);
  });
});
