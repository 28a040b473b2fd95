import { temporal } from '@temporalio/proto';
import { rigOfAllTests } from '../support/conversion-worker';

const rig = rigOfAllTests({ obeyCommonLimit: true });

/** Like `temporal task-queue config set --queue-rps-limit`; undefined means `default`. */
async function setLimit(requestsPerSecond: number | undefined): Promise<void> {
  const { namespace, identity } = rig.temporal.options;
  await rig.temporal.workflowService.updateTaskQueueConfig({
    namespace,
    identity,
    taskQueue: rig.taskQueue,
    taskQueueType: temporal.api.enums.v1.TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
    updateQueueRateLimit: requestsPerSecond === undefined ? {} : { rateLimit: { requestsPerSecond } },
  });
}

it('throttles all workers that obey the limit of their task queue', async () => {
  // One step in 20 seconds; without the limit, 36 would run in the time of this test.
  await setLimit(0.05);
  const jobs = await Promise.all(
    Array.from({ length: 12 }, async (_none, index) =>
      rig.client.start({ source: await rig.source(`${index}.md`), output: 'pdf' }),
    ),
  );
  await new Promise((resolve) => setTimeout(resolve, 4_000));
  expect(rig.stub.requests.length).toBeLessThanOrEqual(2);
  await setLimit(undefined);
  await Promise.all(jobs.map((job) => job.result()));
});
