/** The workflows file of a host: a worker that has activities of its own beside those of file conversion. */
import { proxyActivities } from '@temporalio/workflow';

export * from '../../src/workflows';

export interface HostActivities {
  /** Beats once, and ends when the test says so. */
  beatUntilTold(): Promise<string>;
}

export const hostWorkflow = async (): Promise<string> =>
  proxyActivities<HostActivities>({ startToCloseTimeout: '5 minutes' }).beatUntilTold();
