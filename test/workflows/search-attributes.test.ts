import path from 'node:path';
import type { ConversionHandle } from '../../src/client/conversion-handle';
import type { ConversionRequest } from '../../src/client/job-request';
import { signalAppReady } from '../../src/client/operations/signal-app';
import { rigOfEachTest } from '../support/conversion-worker';
import { answerError, cut } from '../support/stub-service';
import { until } from '../support/until';

/** The search attributes of jobs, on a real Temporal server. */

const app = 'listed';
const rig = rigOfEachTest({ app });

const start = async (request: Partial<ConversionRequest> = {}): Promise<ConversionHandle> =>
  rig.client.start(await rig.request(request));

async function listedBy(query: string): Promise<string[]> {
  const ids: string[] = [];
  const all = `TaskQueue = '${rig.taskQueue}' AND (${query})`;
  for await (const { workflowId } of rig.temporal.workflow.list({ query: all })) ids.push(workflowId);
  return ids;
}

const untilListed = async (query: string, handle: ConversionHandle): Promise<void> =>
  await until(query, async () => (await listedBy(query)).includes(handle.workflowId));

async function upserts({ workflowId }: ConversionHandle): Promise<number> {
  const events = await rig.events(workflowId);
  return events.filter((event) => event.upsertWorkflowSearchAttributesEventAttributes != null).length;
}

it('a successful job is found by status, task, vCredits and formats; the input format comes from the extension alone', async () => {
  rig.stub.complete({ vcredits: 7 });
  const handle = await start({ source: await rig.source('Report.DOCX') });
  const { taskId = '' } = await handle.result();
  await untilListed(
    `ConversionStatus = 'completed' AND ConversionTaskId = '${taskId}' AND ConversionVCredits = 7 AND ConversionInputFormat = 'docx' AND ConversionOutputFormat = 'pdf' AND ConversionErrorCode IS NULL`,
    handle,
  );
  expect(await upserts(handle)).toBe(1);
});

it('a failed job is found by status and code', async () => {
  rig.stub.complete({ error: { code: 'INVALID_FILE', message: 'Bad.' } });
  const handle = await start();
  await expect(handle.result()).rejects.toThrow('INVALID_FILE');
  await untilListed("ConversionStatus = 'failed' AND ConversionErrorCode = 'INVALID_FILE'", handle);
  expect(await upserts(handle)).toBe(1);
});

it('a cancelled job is found by status', async () => {
  let asked = false;
  rig.stub.on('task/response', (_seen, response) => {
    asked = true;
    answerError(response, 503, 'INTERNAL_SERVER_ERROR');
  });
  const handle = await start();
  await until('the service is asked', () => Promise.resolve(asked));
  await handle.cancel();
  await expect(handle.result()).rejects.toMatchObject({ code: 'CANCELLED' });
  await untilListed("ConversionStatus = 'cancelled'", handle);
});

it('a job that has parked once upserts three times, and is listed as parked only while it is', async () => {
  let balance = 0;
  rig.stub.on('convert/file', (seen, response) => {
    if (balance === 0) answerError(response, 403, 'INSUFFICIENT_VCREDITS');
    else rig.stub.answerAsAlways(seen, response);
  });
  const handle = await start();
  await untilListed("ConversionStatus = 'parked'", handle);
  balance = 1;
  await signalAppReady(rig.temporal, { app });
  await handle.result();
  await untilListed("ConversionStatus = 'completed'", handle);
  expect([await listedBy("ConversionStatus = 'parked'"), await upserts(handle)]).toEqual([[], 3]);
});

it('one query finds the jobs that may have been charged twice, both succeeded and failed', async () => {
  let submits = 0;
  rig.stub.on('convert/file', (seen, response) => {
    submits += 1;
    if ([1, 3, 4].includes(submits)) cut(response);
    else if (submits === 2) rig.stub.answerAsAlways(seen, response);
    else answerError(response, 403, 'FREE_PLAN_DISALLOWED');
  });
  const succeeded = await start();
  expect(await succeeded.result()).toMatchObject({ possiblyChargedTwice: true });
  const failed = await start({ destination: path.join(rig.folder, 'other.pdf') });
  await expect(failed.result()).rejects.toMatchObject({ code: 'FREE_PLAN_DISALLOWED' });
  const query = "ConversionErrorCode STARTS_WITH 'POSSIBLY_CHARGED_TWICE'";
  await untilListed(`${query} AND ConversionStatus = 'completed'`, succeeded);
  await untilListed(`${query} AND ConversionStatus = 'failed'`, failed);
  await untilListed("ConversionErrorCode = 'POSSIBLY_CHARGED_TWICE+FREE_PLAN_DISALLOWED'", failed);
});
