import { ApplicationFailure } from '@temporalio/common';
import type { TaskSnapshot } from '../api/conversion-api';
import type { ActivityFailureDetails, TaskReport } from '../shared/activities';
import { failureCodes } from '../shared/activities';
import type { FailureContext } from './failure';
import { taskFailure } from './failure';

/**
 * Reads a task's state for the job: completed is not successful (section "States and transitions").
 *
 * @throws ApplicationFailure when the task completed with an error, or with an output status other than `successful`.
 */
export function reportTask(snapshot: TaskSnapshot, taskId: string, context: FailureContext): TaskReport {
  if (snapshot.error) throw taskFailure(snapshot.error, context);
  const finished = snapshot.status === 'completed';
  if (finished && snapshot.outputStatus !== 'successful') {
    const status = snapshot.outputStatus ?? 'missing';
    const details: ActivityFailureDetails = {
      code: failureCodes.unknownOutputStatus,
      reaction: 'fail',
      origin: 'worker',
      taskId,
    };
    throw ApplicationFailure.nonRetryable(
      `the task completed without an error, but its output status is ${JSON.stringify(status)} and not "successful".`,
      failureCodes.unknownOutputStatus,
      details,
    );
  }
  return {
    taskId,
    connector: snapshot.connector ?? taskId,
    finished,
    ...(snapshot.vcredits !== undefined && { vcredits: snapshot.vcredits }),
    ...(snapshot.durationSeconds !== undefined && { durationSeconds: snapshot.durationSeconds }),
    warnings: { ...snapshot.warnings },
  };
}
