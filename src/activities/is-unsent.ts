import { Context } from '@temporalio/activity';
import { decodePayloads } from '../history/payloads';
import { readAccepted, readFence } from '../job/activities';
import { activityNames } from '../job/names';

/** Whether no submit of this job is pending that may have been sent, by its last heartbeat. */
export async function isUnsent(): Promise<boolean> {
  const { client, info } = Context.current();
  const { namespace, loadedDataConverter } = client.options;
  const { pendingActivities } = await client.workflowService.describeWorkflowExecution({
    namespace,
    execution: info.workflowExecution ?? null,
  });
  const submit = pendingActivities.find(({ activityType }) => activityType?.name === activityNames.convertFile);
  const [details] = await decodePayloads(loadedDataConverter, submit?.heartbeatDetails?.payloads);
  return !readFence(details) && !readAccepted(details);
}
