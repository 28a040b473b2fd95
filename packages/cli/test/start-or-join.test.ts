import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ConversionParameters, OnUnknownOutcome } from '../../../src/shared/job';
import { quickPolicies, startRig, type ConversionRig } from '../../../test/support/conversion-worker';
import { answerError, cut } from '../../../test/support/stub-service';
import { until } from '../../../test/support/until';
import { createLocalFiles } from '../../../src/storage/local-files';
import { startOrJoin } from '../src/convert/start-or-join';

/** What `convert` does about the last job of a file: the rows of docs/repetition.md without a result, and a running one. */

const app = 'stub';
let rig: ConversionRig;
let source: string;
beforeEach(async () => {
  rig = await startRig({ app });
  source = await rig.source('report.md');
});
afterEach(() => rig.close());

function start(onUnknownOutcome: OnUnknownOutcome = 'resubmit', parameters?: ConversionParameters) {
  const destination = path.join(rig.folder, 'report.pdf');
  const policies = { ...quickPolicies, onUnknownOutcome };
  const starting = { files: createLocalFiles(), temporal: rig.temporal, conversions: rig.client, app, tags: [] };
  return startOrJoin(starting, { source, output: 'pdf', ...(parameters && { parameters }), destination, policies });
}

const asAlways = (endpoint: string) =>
  rig.stub.on(endpoint, (seen, response) => rig.stub.answerAsAlways(seen, response));

/** A job that ended, and whose submit may have been charged. */
async function leaveUnknown(): Promise<void> {
  rig.stub.on('convert/file', (seen, response, stub) => {
    stub.convert(seen);
    cut(response);
  });
  const { handle } = await start('fail');
  await expect(handle.result()).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  asAlways('convert/file');
}

/** A job whose task the service has accepted, and tells nothing of. */
async function leaveAccepted() {
  rig.stub.on('task/response', (_seen, response) => answerError(response, 500, 'INTERNAL_SERVER_ERROR'));
  const { handle } = await start();
  await until('it is asked after', () => rig.stub.count('task/response') > 0);
  return handle;
}

async function leaveCancelled(): Promise<void> {
  const handle = await leaveAccepted();
  await handle.cancel();
  await expect(handle.result()).rejects.toMatchObject({ code: 'CANCELLED' });
  asAlways('task/response');
}

async function finish(onUnknownOutcome?: OnUnknownOutcome) {
  const { handle, joined } = await start(onUnknownOutcome);
  const { status, possiblyChargedTwice } = await handle.result();
  return { joined, status, possiblyChargedTwice, conversions: rig.stub.conversions.size };
}

const converted = { joined: false, status: 'succeeded', possiblyChargedTwice: false };

it('one that runs is joined', async () => {
  const { workflowId } = await leaveAccepted();
  const again = await start();
  asAlways('task/response');
  expect([again.joined, again.handle.workflowId]).toEqual([true, workflowId]);
  await expect(again.handle.result()).resolves.toMatchObject({ status: 'succeeded' });
  expect(rig.stub.count('convert/file')).toBe(1);
});

it('one with other parameters is another conversion, and not joined', async () => {
  const { workflowId } = await leaveAccepted();
  const { handle, joined } = await start('resubmit', { dpi: 300 });
  asAlways('task/response');
  expect([joined, handle.workflowId === workflowId]).toEqual([false, false]);
  await rig.client.get(workflowId).cancel();
  await handle.result();
});

it('the task of one that ended is fetched, under both policies', async () => {
  await leaveCancelled();
  expect(await finish('fail')).toEqual({ ...converted, conversions: 1 });
});

it('the task of what the file held before is paid for: the next result is marked', async () => {
  await leaveCancelled();
  await writeFile(source, '# another\n');
  expect(await finish()).toEqual({ ...converted, possiblyChargedTwice: true, conversions: 2 });
});

it('an unknown outcome is resubmitted by the policy, and marked', async () => {
  await leaveUnknown();
  expect(await finish()).toEqual({ ...converted, possiblyChargedTwice: true, conversions: 2 });
});

it('an unknown outcome is kept under the policy fail, with the command that converts all the same', async () => {
  await leaveUnknown();
  const again = start('fail');
  await expect(again).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  await expect(again).rejects.toThrow(
    /may have been charged\. .*: fileconv job retry convert\/report\.md-\w+ --resubmit$/,
  );
  expect(rig.stub.count('convert/file')).toBe(1);
});

it('what was refused, or delivered, is converted again', async () => {
  rig.stub.on('convert/file', (_seen, response) => answerError(response, 403, 'FREE_PLAN_DISALLOWED'));
  await expect((await start()).handle.result()).rejects.toMatchObject({ code: 'FREE_PLAN_DISALLOWED' });
  asAlways('convert/file');
  expect(await finish()).toEqual({ ...converted, conversions: 1 });
  await rm(path.join(rig.folder, 'report.pdf'));
  expect(await finish()).toEqual({ ...converted, conversions: 2 });
});
