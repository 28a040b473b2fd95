import { Context } from '@temporalio/activity';
import { AcknowledgedHeartbeat } from './acknowledged-heartbeat';
import { toFailure } from './failure';
import { readRetryPauses } from './retry-pauses';

/** One attempt of an activity of a batch. */
interface BatchStep {
  context: Context;
  /** Aborts on cancellation, on loss of the attempt, and at shutdown. */
  signal: AbortSignal;
  /** Names temporary files. */
  jobKey: string;
  attempt: number;
}

/** Runs a step of a batch, which sends nothing to the service: heartbeats while it works, and its errors leave it one way. */
export async function runBatchStep<T>(work: (step: BatchStep) => Promise<T>): Promise<T> {
  const context = Context.current();
  const { workflowExecution, activityId, attempt, retryPolicy } = context.info;
  const heartbeat = new AcknowledgedHeartbeat(context);
  heartbeat.start();
  const jobKey = workflowExecution ? `${workflowExecution.workflowId}/${workflowExecution.runId}` : activityId;
  try {
    return await work({ context, signal: heartbeat.signal, jobKey: `${jobKey}/${activityId}`, attempt });
  } catch (error) {
    const pauses = readRetryPauses(retryPolicy);
    throw toFailure(error, { step: 'batch', app: '', attempt, ...(pauses && { pauses }), requests: 0 });
  } finally {
    heartbeat.stop();
  }
}
