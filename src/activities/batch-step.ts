import { Context } from '@temporalio/activity';
import { AcknowledgedHeartbeat } from './acknowledged-heartbeat';
import { toFailure } from './failure';
import { readRetryPauses } from './retry-pauses';

interface BatchStep {
  context: Context;
  /** Aborts on cancellation, when the server drops the attempt, and at shutdown. */
  signal: AbortSignal;
  jobKey: string;
  attempt: number;
}

/** Runs a batch activity, which sends no requests to the service: adds the heartbeat and converts its errors. */
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
