import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { JobStartOptions } from '../../src/client/file-conversion-client';
import type { ConversionRequest } from '../../src/client/job-request';
import { quickPolicies, rigOfEachTest } from '../support/conversion-worker';
import { cut } from '../support/stub-service';
import { until } from '../support/until';

/** `start` and the last job of a destination: see docs/repetition.md. */

const rig = rigOfEachTest();
let source: string;
let destination: string;
beforeEach(async () => {
  source = await rig.source('report.md');
  destination = path.join(rig.folder, 'report.pdf');
});

function start(request: Partial<ConversionRequest> = {}, options: JobStartOptions = {}) {
  const policies = { ...quickPolicies, ...request.policies };
  return rig.client.start({ source, output: 'pdf', destination, ...request, policies }, options);
}

const keeping = { policies: { onUnknownOutcome: 'fail' as const } };

/** A finished job whose submit may have been charged. */
async function leaveUnknown(): Promise<void> {
  rig.stub.on('convert/file', (seen, response, stub) => {
    stub.convert(seen);
    cut(response);
  });
  await expect((await start(keeping)).result()).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  rig.stub.asAlways('convert/file');
}

/** A job with an accepted task whose status the service does not report. */
async function leaveAccepted() {
  rig.stub.fail('task/response', 500, 'INTERNAL_SERVER_ERROR');
  const job = await start();
  await until('it is asked after', () => rig.stub.count('task/response') > 0);
  return job;
}

async function finish(request?: Partial<ConversionRequest>, options?: JobStartOptions) {
  const job = await start(request, options);
  const { status, possiblyChargedTwice } = await job.result();
  return { isAttached: job.isAttached, status, possiblyChargedTwice, conversions: rig.stub.conversions.size };
}

const converted = { isAttached: false, status: 'succeeded', possiblyChargedTwice: false };

it('attaches to a running job', async () => {
  const { workflowId } = await leaveAccepted();
  const again = await start();
  rig.stub.asAlways('task/response');
  expect([again.isAttached, again.workflowId]).toEqual([true, workflowId]);
  await expect(again.result()).resolves.toMatchObject({ status: 'succeeded' });
  expect(rig.stub.count('convert/file')).toBe(1);
});

it('is the same job, whether its destination is the folder or the file in it', async () => {
  const job = await leaveAccepted();
  const folder = `${path.dirname(destination)}/`;
  const again = await start({ destination: folder });
  const other = await start({ destination: folder, output: 'html' });
  rig.stub.asAlways('task/response');
  expect([again.isAttached, again.workflowId, other.isAttached]).toEqual([true, job.workflowId, false]);
  expect(await again.result()).toMatchObject({ output: { name: 'report.pdf' } });
  expect(await other.result()).toMatchObject({ output: { name: 'report.html' } });
  await writeFile(source, '# another\n');
  expect(await finish({ destination: folder, onExisting: 'overwrite' })).toEqual({ ...converted, conversions: 3 });
});

it('gives the result of the job that it has attached to, not of a later one', async () => {
  const job = await leaveAccepted();
  const again = await start();
  rig.stub.asAlways('task/response');
  const { taskId } = await job.result();
  await writeFile(source, '# another\n');
  await finish({ onExisting: 'overwrite' });
  expect(await again.result()).toMatchObject({ taskId });
});

it('names a result that stays at the service to whoever asks again by its id', async () => {
  const ask = () =>
    rig.client.convert({ source, output: 'pdf', policies: quickPolicies }, { workflowId: rig.taskQueue });
  const { connector } = await ask();
  expect(connector).toBeDefined();
  expect(await ask()).toMatchObject({ status: 'skipped', recalled: true, connector });
});

it('rejects a job with other parameters while one is running, or gives it another name', async () => {
  const job = await leaveAccepted();
  const other = { parameters: { dpi: 300 } };
  await expect(start(other)).rejects.toMatchObject({ code: 'DESTINATION_TAKEN', workflowId: job.workflowId });
  const renamed = await start({ ...other, onExisting: 'rename' });
  expect(renamed.workflowId).toBe(`${job.workflowId}-2`);
  rig.stub.asAlways('task/response');
  // Either may end first.
  expect((await renamed.result()).output?.name).toBe('report (1).pdf');
  expect([(await job.result()).output?.name, rig.stub.conversions.size]).toEqual(['report.pdf', 2]);
});

it('gives another name to the later of two jobs that start at once after one that has ended', async () => {
  await (await start()).result();
  await rm(destination);
  const renamed = { ...keeping, onExisting: 'rename' as const };
  const jobs = await Promise.all(['html', 'txt'].map((output) => start({ ...renamed, output })));
  const results = await Promise.all(jobs.map((job) => job.result()));
  expect(results.map(({ output }) => output?.name).sort()).toEqual(['report (1).pdf', 'report.pdf']);
  expect(results.map(({ possiblyChargedTwice }) => possiblyChargedTwice)).toEqual([false, false]);
});

it('rejects a start if the running job has uploaded content that the file no longer has', async () => {
  const job = await leaveAccepted();
  await writeFile(source, '# another\n');
  await expect(start()).rejects.toMatchObject({ code: 'SOURCE_CHANGED', workflowId: job.workflowId });
  rig.stub.asAlways('task/response');
  await job.result();
});

it('keeps an unknown outcome under policy fail, names the command that converts anyway, and resubmits on request', async () => {
  await leaveUnknown();
  const again = start(keeping).then((job) => job.result());
  await expect(again).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  await expect(again).rejects.toThrow(/to convert all the same: fileconv job retry \S+ --resubmit/);
  expect(rig.stub.count('convert/file')).toBe(1);
  const marked = { ...converted, possiblyChargedTwice: true, conversions: 2 };
  expect(await finish(keeping, { resubmit: true })).toEqual(marked);
});

it('marks a conversion with other parameters while an earlier submit is open, not after a result', async () => {
  const pages = (last: number) => ({ ...keeping, parameters: { pages: last } });
  const marked = { possiblyChargedTwice: true, conversions: 2 };
  await leaveUnknown();
  expect(await finish(pages(1))).toEqual({ ...converted, ...marked });
  expect(await finish({ ...pages(2), onExisting: 'overwrite' })).toEqual({ ...converted, conversions: 3 });
});

it('keeps that mark through refusals, which are free, until something is converted', async () => {
  const refused = async (last: number, charge: string) => {
    rig.stub.fail('convert/file', 400, 'INVALID_PARAMETER');
    await expect(finish({ parameters: { pages: last } })).rejects.toMatchObject({ details: { charge } });
    rig.stub.asAlways('convert/file');
  };
  await refused(1, 'no');
  await leaveUnknown();
  await refused(2, 'maybe');
  expect(await finish({ parameters: { pages: 1 } })).toMatchObject({ possiblyChargedTwice: true, conversions: 2 });
});

it('converts after a refusal; skips a delivered result, fetches it if it is gone, and converts again on request', async () => {
  rig.stub.fail('convert/file', 403, 'FREE_PLAN_DISALLOWED');
  await expect((await start()).result()).rejects.toMatchObject({ code: 'FREE_PLAN_DISALLOWED' });
  rig.stub.asAlways('convert/file');
  expect(await finish()).toEqual({ ...converted, conversions: 1 });
  const requests = rig.stub.requests.length;
  expect(await finish()).toEqual({ ...converted, status: 'skipped', conversions: 1 });
  expect(rig.stub.requests).toHaveLength(requests);
  await rm(destination);
  expect(await finish()).toEqual({ ...converted, conversions: 1 });
  expect(await finish({ onExisting: 'overwrite' }, { again: true })).toEqual({ ...converted, conversions: 2 });
});

it('remembers a delivered result through a newer version that was refused, and through a result that could not be fetched', async () => {
  const refuse = async () => {
    rig.stub.fail('convert/file', 400, 'INVALID_PARAMETER');
    await expect(finish()).rejects.toMatchObject({ code: 'INVALID_PARAMETER' });
    rig.stub.asAlways('convert/file');
  };
  await finish();
  await rig.source('report.md', '# Newer\n');
  await rm(destination);
  await refuse();
  await rig.source('report.md');
  expect(await finish()).toEqual({ ...converted, conversions: 1 });
  await rm(destination);
  rig.stub.fail('task/response', 404, 'NO_CONNECTOR_DEPENDENT_TASK');
  const lost = { code: 'NO_CONNECTOR_DEPENDENT_TASK', details: { charge: 'no' } };
  await expect(finish()).rejects.toMatchObject(lost);
  await expect(finish()).rejects.toMatchObject(lost);
  expect(rig.stub.count('convert/file')).toBe(2);
});

it('marks another content while a submit with other parameters is open, even if these parameters had a result before', async () => {
  await finish();
  rig.stub.loseSubmits();
  await expect(finish({ ...keeping, onExisting: 'overwrite', parameters: { dpi: 300 } })).rejects.toMatchObject({
    details: { charge: 'maybe' },
  });
  rig.stub.asAlways('convert/file');
  await rig.source('report.md', '# Newer\n');
  expect(await finish({ onExisting: 'overwrite' })).toMatchObject({ possiblyChargedTwice: true, conversions: 3 });
});
