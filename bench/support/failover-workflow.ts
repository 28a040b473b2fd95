import { proxyActivities } from '@temporalio/workflow';

export * from '../../src/workflows';

/** What a job is compared with: one activity that heartbeats as often as those of jobs, and ends at its second attempt. */
export async function heartbeatingWorkflow(heartbeatTimeoutMs: number): Promise<void> {
  const { heartbeatUntilLost } = proxyActivities<{ heartbeatUntilLost: () => Promise<void> }>({
    startToCloseTimeout: '10 minutes',
    heartbeatTimeout: heartbeatTimeoutMs,
  });
  await heartbeatUntilLost();
}
