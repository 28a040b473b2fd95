import { Context } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { decodePayloads } from '../history/payloads';
import { readAccepted, readFence } from '../job/activities';
import { activityNames } from '../job/names';

const lookAgainMs = 1_000;

/** Waits while the pending submit of this job may have been sent, by its last heartbeat. Resolves at once if none is pending. */
export async function awaitUnsent(): Promise<void> {
  const { client, info } = Context.current();
  const { namespace, loadedDataConverter } = client.options;
  const { pendingActivities } = await client.workflowService.describeWorkflowExecution({
    namespace,
    execution: info.workflowExecution ?? null,
  });
  const submit = pendingActivities.find(({ activityType }) => activityType?.name === activityNames.convertFile);
  const [details] = await decodePayloads(loadedDataConverter, submit?.heartbeatDetails?.payloads);
  if (!readFence(details) && !readAccepted(details)) return;
  throw ApplicationFailure.create({
    message: 'The convert request may have been sent: its next attempt tells what came of it.',
    type: 'SUBMIT_SENT',
    nextRetryDelay: lookAgainMs,
    category: ApplicationFailureCategory.BENIGN,
  });
}
