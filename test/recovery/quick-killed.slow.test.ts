import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import { readJobHistory } from '../../src/history/job-history';
import { callbackKeyText } from '../support/calling-back';
import { quickPolicies } from '../support/conversion-worker';
import { conversionsOf, unreportedConversions } from '../support/invariant';
import { killableWorkers, type KillableWorkers } from '../support/killable-workers';

/** A worker is killed in the step that submits a conversion and, since it knows the formats as quick, awaits its end. */

let workers: KillableWorkers;
beforeAll(async () => {
  workers = await killableWorkers();
});
afterAll(() => workers.close());

it('another worker goes on with the task that was accepted, and nothing is submitted again', async () => {
  const { folder, stub, temporal } = workers;
  const taskQueue = randomUUID();
  const env = {
    FILECONV_CALLBACKS_PUBLIC_BASE_URL: 'http://127.0.0.1:9',
    FILECONV_CALLBACKS_KEY_ENV: 'TEST_CALLBACK_KEY',
    TEST_CALLBACK_KEY: callbackKeyText,
  };
  const doomed = await workers.startWorker(taskQueue, env);
  const client = new FileConversionClient({ client: temporal, taskQueue, app: 'stub' });
  const { maxCheckInterval } = quickPolicies;
  const start = async (name: string, policies: object) => {
    const source = path.join(folder, `${name}.md`);
    await writeFile(source, `# ${name}\n`);
    const destination = path.join(folder, `${name}.pdf`);
    return client.start({
      source,
      output: 'pdf',
      destination,
      policies: { maxCheckInterval, pollAfter: 100, ...policies },
    });
  };
  await (await start('first', quickPolicies)).result();

  const killed = new Promise<void>((resolve, reject) => {
    stub.first('task/response', () => void doomed.kill().then(resolve, reject));
  });
  // Under this policy an outcome that is not known would be submitted again. A callback may have come to the worker that was killed.
  const job = await start('second', { onUnknownOutcome: 'resubmit', pollAfter: '1 hour' });
  await killed;
  await workers.startWorker(taskQueue, env);
  const result = await job.result();
  expect(result).toMatchObject({ status: 'succeeded', charge: 'yes', possiblyChargedTwice: false });
  expect(await readFile(path.join(folder, 'second.pdf'))).toEqual(Buffer.from(stub.output));
  const conversions = conversionsOf(stub);
  expect(conversions.map(({ file }) => file)).toEqual(['first.md', 'second.md']);
  expect(await unreportedConversions(conversions, { client: temporal, taskQueues: [taskQueue] })).toEqual([]);

  // Had the job been terminated right after the loss, whoever asks again would know the task.
  const { events = [] } = await temporal.workflow.getHandle(job.workflowId).fetchHistory();
  const lost =
    events?.findIndex(({ activityTaskTimedOutEventAttributes }) => activityTaskTimedOutEventAttributes) ?? -1;
  expect(lost).toBeGreaterThan(0);
  const { charge } = await readJobHistory(events?.slice(0, lost + 1), temporal.options.loadedDataConverter);
  expect(charge).toMatchObject({ charge: 'yes', taskId: result.taskId });
});
