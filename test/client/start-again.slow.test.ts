import path from 'node:path';
import { quickPolicies, rigOfEachTest } from '../support/conversion-worker';
import { answerNotYet } from '../support/stub-service';
import { until } from '../support/until';

/** `start` and the last job of a destination, when a time limit of Temporal is involved: see docs/repetition.md. */

const rig = rigOfEachTest();

it('a job that Temporal runs again under a retry policy continues with the task of the run before', async () => {
  const source = await rig.source('report.md');
  const destination = path.join(rig.folder, 'report.pdf');
  rig.stub.on('task/response', (seen, response) => answerNotYet(response, seen.connector));
  const { args, ...named } = await rig.client.jobStart({ source, output: 'pdf', destination, policies: quickPolicies });
  // Without a limit: on a busy machine, the second run may reach its time limit too, and the same rule applies to each.
  const retry = { initialInterval: 100, backoffCoefficient: 1 };
  const options = { ...named, args, workflowRunTimeout: '5 seconds', retry };
  const job = await rig.temporal.workflow.start('conversionJob', options);
  await until('its second run begins', async () => (await job.describe()).runId !== job.firstExecutionRunId);
  rig.stub.asAlways('task/response');
  await expect(job.result()).resolves.toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
  expect(rig.stub.count('convert/file')).toBe(1);
});
