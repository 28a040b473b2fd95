import { temporal } from '@temporalio/proto';
import { readPendingStep } from '../../src/client/operations/job-waiting';

const { PendingActivityState: states } = temporal.api.enums.v1;
const { PendingActivityInfo } = temporal.api.workflow.v1;

function stepOf(info: temporal.api.workflow.v1.IPendingActivityInfo) {
  const activity = PendingActivityInfo.create({ activityType: { name: 'conversion.uploadFile' }, attempt: 3, ...info });
  return readPendingStep({ raw: { pendingActivities: [activity] } });
}

it.each([
  ['SCHEDULED', false],
  ['STARTED', true],
  ['CANCEL_REQUESTED', true],
  ['PAUSED', false],
  ['PAUSE_REQUESTED', true],
] as const)('an activity in state %s is in flight: %p', (name, underWay) => {
  const nextAttemptScheduleTime = { seconds: 1_800_000_000 as never };
  expect(stepOf({ state: states[`PENDING_ACTIVITY_STATE_${name}`], nextAttemptScheduleTime })).toEqual({
    step: 'uploading',
    attempt: 3,
    underWay,
    ...(!underWay && { nextAttemptAt: 1_800_000_000_000 }),
  });
});

it('a failure that Temporal has truncated and wrapped keeps its code', () => {
  const told = { message: 'uploads: HTTP 502', applicationFailureInfo: { type: 'UNREADABLE_RESPONSE' } };
  const lastFailure = { message: 'Failure exceeds size limit.', serverFailureInfo: {}, cause: told };
  const expected = { lastFailure: 'uploads: HTTP 502', lastFailureType: 'UNREADABLE_RESPONSE' };
  expect(stepOf({ lastFailure })).toMatchObject(expected);
  expect(stepOf({ lastFailure: told })).toMatchObject(expected);
});

it('a timeout has a message and no code', () => {
  const step = stepOf({ lastFailure: { message: 'activity Heartbeat timeout', timeoutFailureInfo: {} } });
  expect(step).toMatchObject({ lastFailure: 'activity Heartbeat timeout' });
  expect(step).not.toHaveProperty('lastFailureType');
});
