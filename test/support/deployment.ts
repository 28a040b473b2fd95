import type { Client } from '@temporalio/client';
import { hasStatus } from '../../src/history/grpc';
import { until } from './until';

/** As `temporal worker deployment set-current-version` does it; the server knows a version a moment after its first worker has polled. */
export async function makeCurrent(client: Client, deploymentName: string, buildId: string): Promise<void> {
  const { namespace, identity } = client.options;
  await until(`build ${buildId} is current`, async () => {
    try {
      await client.workflowService.setWorkerDeploymentCurrentVersion({ namespace, identity, deploymentName, buildId });
      return true;
    } catch (error) {
      if (hasStatus(error, 'INVALID_ARGUMENT', 'NOT_FOUND', 'FAILED_PRECONDITION')) return false;
      throw error;
    }
  });
}
