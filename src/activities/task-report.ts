import type { TaskSnapshot } from '../http/conversion-api';
import type { TaskReport } from '../shared/activities';
import { chargedFailure, taskFailure, unknownStatusFailure, type FailureContext } from './failure';

/**
 * Converts a task's state for the job: completed does not mean successful (section "States and transitions"), and only
 * a completed task's error is final. A missing result (`null`, `{}`) means "not yet". After a submit, anything but
 * success is left to the next poll: the task id is then known, so its cost is recorded.
 *
 * @throws ApplicationFailure when the task completed with an error, or with an output status other than `successful`.
 */
export function reportTask(snapshot: TaskSnapshot, taskId: string, context: FailureContext): TaskReport {
  const { status, error, outputStatus, isWithoutResult = false, vcredits, durationSeconds, warnings } = snapshot;
  const isOver =
    !['hold', 'running'].includes(status) && (error !== undefined || (status === 'completed' && !isWithoutResult));
  const finished = isOver && error === undefined && outputStatus === 'successful';
  if (isOver && !finished && context.step !== 'submit') {
    if (!error) throw unknownStatusFailure(outputStatus, context);
    const isCharged = outputStatus === 'successful' || (vcredits ?? 0) > 0;
    throw isCharged ? chargedFailure(error, context) : taskFailure(error, context);
  }
  return {
    taskId,
    connector: snapshot.connector ?? taskId,
    finished,
    ...(vcredits !== undefined && { vcredits }),
    ...(durationSeconds !== undefined && { durationSeconds }),
    warnings: { ...warnings },
  };
}
