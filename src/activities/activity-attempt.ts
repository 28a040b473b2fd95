import { Context } from '@temporalio/activity';
import { AcknowledgedHeartbeat } from './acknowledged-heartbeat';
import type { FailureContext } from './failure';
import { toFailure } from './failure';

/** One attempt of an activity: its heartbeat, its count of requests, and the one way its errors leave it. */
export interface ActivityAttempt {
  readonly number: number;
  readonly heartbeat: AcknowledgedHeartbeat;
  /** Details of the last heartbeat of an earlier attempt; not to be trusted to be of any shape. */
  readonly previousDetails: unknown;
  /** Aborts on cancellation, on loss of the attempt, and at shutdown. */
  readonly signal: AbortSignal;
  /** Identity of the job that this activity belongs to. */
  readonly jobKey: string;
  /** What failures of this attempt are told with; the activity keeps `requests` and `taskId` up to date. */
  readonly failure: FailureContext;
}

export async function runAttempt<T>(
  step: FailureContext['step'],
  app: string,
  work: (attempt: ActivityAttempt) => Promise<T>,
): Promise<T> {
  const context = Context.current();
  const { info } = context;
  const heartbeat = new AcknowledgedHeartbeat(context);
  // A submit begins its beat only behind its fence, which an older beat must not overtake.
  if (step !== 'submit') heartbeat.start();
  const failure: FailureContext = { step, app, attempt: info.attempt, requests: 0 };
  try {
    return await work({
      number: info.attempt,
      heartbeat,
      previousDetails: info.heartbeatDetails as unknown,
      signal: heartbeat.signal,
      jobKey: currentJobKey(),
      failure,
    });
  } catch (error) {
    throw toFailure(error, failure);
  } finally {
    heartbeat.stop();
  }
}

/** Names a job's temporary files: the same for every attempt and every activity of one run. */
function currentJobKey(): string {
  const { workflowExecution, activityId } = Context.current().info;
  return workflowExecution ? `${workflowExecution.workflowId}/${workflowExecution.runId}` : activityId;
}
