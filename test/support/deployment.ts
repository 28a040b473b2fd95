import type { Client } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { hasStatus } from '../../src/history/grpc';
import { until } from './until';

/** Like `temporal worker deployment set-current-version`. Retries, since the server learns of a version only after its first poll. */
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
  // The partitions of a task queue learn of it one after the other.
  await until('its task queues know', async () => {
    const { workerDeploymentInfo } = await client.workflowService.describeWorkerDeployment({
      namespace,
      deploymentName,
    });
    return (
      workerDeploymentInfo?.routingConfigUpdateState !==
      temporal.api.enums.v1.RoutingConfigUpdateState.ROUTING_CONFIG_UPDATE_STATE_IN_PROGRESS
    );
  });
}
