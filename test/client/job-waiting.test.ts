import { stallText } from '../../packages/cli/src/waiting/stall';
import { waitingOf, type PendingStep } from '../../src/client/operations/job-waiting';

const at = 1_800_000_000_000;

function waits({
  pending,
  worker = 'answers',
  status = 'RUNNING',
}: {
  pending?: Partial<PendingStep>;
  worker?: 'answers' | 'silent' | 'none';
  status?: string;
} = {}) {
  const input = { app: 'billing', source: { uri: 'file:///in/a.md' }, output: 'pdf' };
  const entry = { at, what: 'submitting', outcome: 'open' as const };
  return waitingOf({
    history: {
      input,
      lastStep: { activity: 'conversion.convertFile', entry, hasCallback: false },
    },
    description: { taskQueue: 'q', status: { name: status } } as never,
    pending: pending && { step: 'submitting', attempt: 2, underWay: false, nextAttemptAt: at, ...pending },
    worker,
  });
}

it.each([
  ['INSUFFICIENT_VCREDITS', 'credits', 'vCredits of app billing'],
  ['TOO_MANY_REQUESTS', 'rateLimit', 'the rate limit of app billing'],
  ['FREE_APP_LIMITED', 'rateLimit', 'the rate limit of app billing'],
  ['RATE_LIMIT_WAIT', 'rateLimit', 'the rate limit of app billing'],
  ['SERVICE_UNREACHABLE', 'service', 'the conversion service of app billing'],
  ['INTERNAL_SERVER_ERROR', 'service', 'the conversion service of app billing'],
  ['HTTP_502', 'service', 'the conversion service of app billing'],
  ['INVALID_CREDENTIAL', 'account', 'the account of app billing to be accepted'],
  ['DESTINATION_FULL', 'room', 'room at the destination'],
  ['DESTINATION_NOT_SHARED', 'sharedFolder', 'a worker on the host that uploaded the source'],
  ['UNKNOWN_APP', 'appProfile', 'a worker that knows the app profile billing'],
  ['CONVERSION_NOT_FINISHED', 'conversion', 'the service to finish the conversion'],
  ['STORAGE_FAILED', 'retry', 'the next attempt (submitting)'],
])('a step that failed with %s waits for: %s', (lastFailureType, reason, waitsFor) => {
  expect(waits({ pending: { lastFailureType } })).toMatchObject({ reason, waitsFor, until: at });
});

it('a step that no worker has taken waits for a free one, and one under way for its end', () => {
  expect(waits({ pending: { attempt: 1 } })).toEqual({
    reason: 'slot',
    waitsFor: 'a worker that is free (submitting)',
  });
  expect(waits({ pending: { attempt: 1, underWay: true } })).toEqual({
    reason: 'attempt',
    waitsFor: 'the attempt under way (submitting)',
    because: 'The service has not answered yet.',
  });
});

it('a step whose last attempt ended without a code, as by a time-out, waits for the next attempt', () => {
  const lastFailure = 'activity Heartbeat timeout';
  expect(waits({ pending: { lastFailure } })).toEqual({
    reason: 'retry',
    waitsFor: 'the next attempt (submitting)',
    because: lastFailure,
    until: at,
  });
  expect(waits({ pending: { lastFailure, underWay: true } }).reason).toBe('attempt');
});

it.each([
  [undefined, 10 * 60_000],
  ['30 seconds', 30_000],
])('the callback after an unknown outcome is waited for until the policy %p says', (unknownOutcomeWait, waitMs) => {
  const input = { app: 'billing', source: { uri: 'file:///in/a.md' }, output: 'pdf' };
  const policies = unknownOutcomeWait === undefined ? {} : { policies: { unknownOutcomeWait } };
  const entry = { at: at - 1_000, endedAt: at, what: 'submitting', outcome: 'failed' as const };
  const failure = { code: 'X', message: 'x', reaction: 'outcomeUnknown' as const, isOfTask: false, isOfRequest: true };
  const waiting = waitingOf({
    history: {
      input: { ...input, ...policies },
      lastStep: { activity: 'conversion.convertFile', entry, failure, hasCallback: true },
    },
    description: { taskQueue: 'q', status: { name: 'RUNNING' } } as never,
    pending: undefined,
    worker: 'answers',
  });
  expect(waiting).toMatchObject({ reason: 'callback', until: at + waitMs });
  expect(stallText('a.md', waiting)).toMatch(/ran, until .* at the latest\.$/);
});

it('without a worker nothing else matters, whatever the last failure was', () => {
  const pending = { lastFailureType: 'SERVICE_UNREACHABLE' };
  expect(waits({ pending, worker: 'none' }).waitsFor).toBe('a worker: none polls task queue q');
  expect(waits({ pending, worker: 'silent' }).waitsFor).toBe('a worker: none answers on task queue q');
});

it('what somebody has paused in Temporal waits for that person', () => {
  expect(waits({ status: 'PAUSED' }).reason).toBe('paused');
  expect(waits({ pending: { isPaused: true } }).reason).toBe('paused');
});
