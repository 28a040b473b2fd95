import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parseCallbackKeys } from '../../src/callbacks/callback-url';
import { createSignalJob, startCallbackReceiver } from '../../src/callbacks/receiver';
import type { ConversionPolicies } from '../../src/job/types';
import { callbackKeyText, keepTasks } from '../support/calling-back';
import { quickPolicies } from '../support/conversion-worker';
import { conversionsOf, unreportedConversions } from '../support/invariant';
import { workersOfEachTest } from '../support/killable-workers';
import { until } from '../support/until';

/** A worker with callbacks is killed during the submit step. */

const workers = workersOfEachTest();

const outputOf = (name: string) => path.join(workers.folder, `${name}.pdf`);

async function start(name: string, policies: ConversionPolicies) {
  const { maxCheckInterval } = quickPolicies;
  return workers.client.start({
    source: await workers.source(`${name}.md`),
    output: 'pdf',
    destination: outputOf(name),
    policies: { maxCheckInterval, pollAfter: 100, ...policies },
  });
}

it('another worker continues with the accepted task if the worker is killed while its submit step awaits a quick conversion', async () => {
  const { stub, temporal, taskQueue } = workers;
  const callbacks = { key: callbackKeyText, publicBaseUrl: 'http://127.0.0.1:9' };
  const doomed = await workers.startWorker({ callbacks });
  await (await start('first', quickPolicies)).result();

  const killed = new Promise<void>((resolve, reject) => {
    stub.first('task/response', () => void doomed.kill().then(resolve, reject));
  });
  // This policy would repeat an unknown outcome. The callback may have reached the killed worker.
  const job = await start('second', { onUnknownOutcome: 'resubmit', pollAfter: '1 hour' });
  await killed;
  await workers.startWorker({ callbacks });
  const result = await job.result();
  expect(result).toMatchObject({ status: 'succeeded', charge: 'yes', possiblyChargedTwice: false });
  expect(await readFile(outputOf('second'))).toEqual(Buffer.from(stub.output));
  const conversions = conversionsOf(stub);
  expect(conversions.map(({ file }) => file)).toEqual(['first.md', 'second.md']);
  expect(await unreportedConversions(conversions, { client: temporal, taskQueues: [taskQueue] })).toEqual([]);
});

it.each(['fail', 'resubmit'] as const)(
  'a submit without an answer continues with the task named by its callback, and is charged once, under policy %s',
  async (onUnknownOutcome) => {
    const { stub, temporal } = workers;
    const receiver = await startCallbackReceiver({
      keys: parseCallbackKeys(callbackKeyText),
      signalJob: createSignalJob(temporal),
    });
    const callbacks = { key: callbackKeyText, publicBaseUrl: receiver.url };
    const doomed = await workers.startWorker({ callbacks });
    const { tasks, run } = keepTasks(stub);
    stub.on('convert/file', (seen) => run(seen.data['callback']).finish());
    const job = await start('called-back', { ...quickPolicies, onUnknownOutcome, unknownOutcomeWait: '1 minute' });
    await until('it is submitted', () => tasks.length === 1);
    await doomed.kill();
    await workers.startWorker({ callbacks });
    await tasks[0]?.callBack();
    const expected = { status: 'succeeded', taskId: tasks[0]?.id, possiblyChargedTwice: false };
    expect(await job.result()).toMatchObject(expected);
    expect(tasks).toHaveLength(1);
    await receiver.close();
  },
);
