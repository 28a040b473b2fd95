/** The workflows file of a host, whose worker has its own activities beside those of file conversion. */
import { proxyActivities } from '@temporalio/workflow';

export * from '../../src/workflows';

export interface HostActivities {
  /** Sends one heartbeat, and ends when the test says so. */
  beatUntilTold(): Promise<string>;
}

export const hostWorkflow = async (): Promise<string> =>
  proxyActivities<HostActivities>({ startToCloseTimeout: '5 minutes' }).beatUntilTold();
