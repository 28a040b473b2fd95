import { proxyActivities } from '@temporalio/workflow';

/** What a job is compared with: as many activities, one after the other, that do nothing. */
export async function bareWorkflow(activityCount: number): Promise<number> {
  const { noOp } = proxyActivities<{ noOp: (step: number) => Promise<number> }>({ startToCloseTimeout: '1 minute' });
  let sum = 0;
  for (let step = 0; step < activityCount; step += 1) sum += await noOp(step);
  return sum;
}
