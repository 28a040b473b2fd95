/** The workflows file of a host: a worker that has activities of its own beside those of file conversion. */
import { proxyActivities } from '@temporalio/workflow';

export * from '../../src/workflows';

export interface HostActivities {
  /** Heartbeats each second. */
  countSeconds(seconds: number): Promise<void>;
}

export async function hostWorkflow(seconds: number): Promise<void> {
  const { countSeconds } = proxyActivities<HostActivities>({
    startToCloseTimeout: '5 minutes',
    heartbeatTimeout: '30 seconds',
  });
  await countSeconds(seconds);
}
