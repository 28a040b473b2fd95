import { temporal } from '@temporalio/proto';
import { waitingOf } from '../../src/client/operations/job-waiting';

const at = 1_800_000_000_000;

function waits({
  pending,
  worker = 'answers',
  status = 'RUNNING',
  phase,
}: {
  pending?: { code?: string; lastFailure?: string; underWay?: boolean; isPaused?: boolean };
  worker?: 'answers' | 'silent' | 'none';
  status?: string;
  phase?: 'converting' | 'submitting';
} = {}) {
  const activity = pending && {
    activityType: { name: 'conversion.convertFile' },
    attempt: 2,
    state:
      temporal.api.enums.v1.PendingActivityState[
        pending.underWay ? 'PENDING_ACTIVITY_STATE_STARTED' : 'PENDING_ACTIVITY_STATE_SCHEDULED'
      ],
    scheduledTime: { seconds: at / 1_000 },
    paused: pending.isPaused === true,
    ...((pending.code !== undefined || pending.lastFailure !== undefined) && {
      lastFailure: { message: pending.lastFailure, applicationFailureInfo: { type: pending.code } },
    }),
  };
  const raw = { pendingActivities: activity ? [activity] : [] };
  const description = { workflowId: 'a', taskQueue: 'q', status: { name: status }, raw };
  return waitingOf(description as never, { worker, phase }, 'billing');
}

it.each([
  ['INSUFFICIENT_VCREDITS', 'credits', 'vCredits of app billing'],
  ['TOO_MANY_REQUESTS', 'rateLimit', 'the rate limit of app billing'],
  ['FREE_APP_LIMITED', 'rateLimit', 'the rate limit of app billing'],
  ['RATE_LIMIT_WAIT', 'rateLimit', 'the rate limit of app billing'],
  ['SERVICE_UNREACHABLE', 'service', 'the conversion service of app billing'],
  ['INTERNAL_SERVER_ERROR', 'service', 'the conversion service of app billing'],
  ['HTTP_502', 'service', 'the conversion service of app billing'],
  ['INVALID_CREDENTIAL', 'person', 'the account of app billing to be accepted'],
  ['DESTINATION_FULL', 'person', 'room at the destination'],
  ['DESTINATION_NOT_SHARED', 'worker', 'a worker on the host that uploaded the source'],
  ['UNKNOWN_APP', 'worker', 'a worker that knows the app profile billing'],
  ['CONVERSION_NOT_FINISHED', 'conversion', 'the service to finish the conversion'],
  ['STORAGE_FAILED', 'conversion', 'the next attempt (submitting)'],
])('a step that failed with %s waits for: %s', (code, reason, waitsFor) => {
  expect(waits({ pending: { code } })).toMatchObject({ reason, waitsFor, until: at });
});

it('a step that no worker has taken waits for a free one, and one in flight for its end', () => {
  expect(waits({ pending: {} })).toMatchObject({ reason: 'worker', waitsFor: 'a worker that is free (submitting)' });
  expect(waits({ pending: { underWay: true } })).toEqual({
    reason: 'conversion',
    waitsFor: 'the attempt under way (submitting)',
    because: 'The service has not answered yet.',
    next: { why: 'Whether anything is broken', command: 'fileconv doctor --app billing' },
  });
});

it('a step whose last attempt ended without a code, for example in a timeout, waits for the next attempt', () => {
  const lastFailure = 'activity Heartbeat timeout';
  expect(waits({ pending: { lastFailure } })).toEqual({
    reason: 'conversion',
    waitsFor: 'the next attempt (submitting)',
    because: lastFailure,
    until: at,
  });
  expect(waits({ pending: { lastFailure, underWay: true } }).waitsFor).toBe('the attempt under way (submitting)');
});

it('a job between two steps waits for a callback or a pause', () => {
  expect(waits({ phase: 'converting' }).waitsFor).toBe("the service's callback, or the time to poll");
  expect(waits({ phase: 'submitting' }).waitsFor).toMatch(/^the callback that says whether its submit ran/);
});

it('a job without a worker waits for one, whatever the last failure was', () => {
  const pending = { code: 'SERVICE_UNREACHABLE' };
  expect(waits({ pending, worker: 'none' }).waitsFor).toBe('a worker: none polls task queue q');
  expect(waits({ pending, worker: 'silent' }).waitsFor).toBe('a worker: none answers on task queue q');
});

it('a job that is paused in Temporal waits for a person', () => {
  const next = { why: 'Continue', command: 'temporal workflow unpause --workflow-id a' };
  expect(waits({ status: 'PAUSED' })).toMatchObject({ reason: 'paused', next });
  expect(waits({ pending: { isPaused: true } })).toMatchObject({ reason: 'paused', next });
});
