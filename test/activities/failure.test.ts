import { ServiceError } from '@temporalio/client';
import {
  ApplicationFailure,
  ApplicationFailureCategory,
  CancelledFailure,
  defaultFailureConverter,
  defaultPayloadConverter,
} from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { z } from 'zod';
import { toFailure, UnknownAppError } from '../../src/activities/failure';
import { RefusedPlanError } from '../../src/batch/findings';
import type { FailureContext } from '../../src/activities/failure-context';
import { taskFailure } from '../../src/activities/check-task';
import { endpoints, type Endpoint } from '../../src/contract/endpoints';
import { errorCodes } from '../../src/contract/error-codes';
import { ConversionApiError } from '../../src/http/errors';
import type { ActivityFailureDetails } from '../../src/job/activities';
import { StorageError } from '../../src/storage/errors';

const steps = ['upload', 'submit', 'check', 'download'] as const;

function contextOf(step: FailureContext['step'], overrides: Partial<FailureContext> = {}): FailureContext {
  return { step, app: 'acme', attempt: 1, requests: 1, ...overrides };
}

const apiError = (code: string, overrides: Partial<ConstructorParameters<typeof ConversionApiError>[0]> = {}) =>
  new ConversionApiError({
    code,
    message: `${code} happened.`,
    endpoint: endpoints.convertFile,
    mayHaveExecuted: false,
    ...overrides,
  });

/** What the workflow and the server do about a failure: `retry`, or the job's reaction. */
function verdict(failure: Error): string {
  if (!(failure instanceof ApplicationFailure)) throw new Error('not an ApplicationFailure', { cause: failure });
  const details = failure.details?.[0] as ActivityFailureDetails;
  return failure.nonRetryable ? details.reaction : 'retry';
}

it("a retryable failure sets its own pause, unless the service or the server's retry policy does", () => {
  const pauses = { initialMs: 1_000, maximumMs: 60_000 };
  const delayOf = (error: Error, context: Partial<FailureContext>): unknown => {
    const failure = toFailure(error, contextOf('check', context));
    return failure instanceof ApplicationFailure ? failure.nextRetryDelay : 'no ApplicationFailure';
  };
  const unreachable = apiError('SERVICE_UNREACHABLE');
  expect(delayOf(unreachable, { pauses, attempt: 3 })).toBe(4_000);
  expect(delayOf(unreachable, { attempt: 3 })).toBeUndefined();
  expect(delayOf(apiError('TOO_MANY_REQUESTS', { retryAfterSeconds: 9 }), { pauses, attempt: 3 })).toBe(9_000);
  expect(delayOf(apiError('TOO_MANY_REQUESTS', { retryAfterSeconds: 0 }), { pauses, refusals: 3 })).toBe(4_000);
  expect(delayOf(apiError('ONLY_DEVELOPMENT_REQUEST'), { pauses })).toBe(1_000);
  expect(delayOf(apiError('EMPTY_FILE'), { pauses, attempt: 3 })).toBeUndefined();
});

it('a defect fails a plan after a few attempts, with advice, while transient errors are retried all day', () => {
  const told = (error: Error, context: Partial<FailureContext>) => {
    const failure = toFailure(error, contextOf('plan', context));
    return `${verdict(failure)} ${failure.message}`;
  };
  const defect = new TypeError('x is not a function');
  expect(told(defect, { attempt: 3 })).toMatch(/^retry /);
  expect(told(defect, { attempt: 4 })).toMatch(/^fail x is not a function .* report them, and run the batch again/);
  const passing = [
    Object.assign(new Error('too many open files'), { code: 'EMFILE' }),
    new TypeError('fetch failed', { cause: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }) }),
    new ServiceError('Temporal did not answer'),
    new StorageError({ code: 'STORAGE_FAILED', message: 'away', uri: 'file:///a', retryable: true }),
  ];
  for (const error of passing) expect(told(error, { attempt: 400 })).toMatch(/^retry /);
  expect(verdict(toFailure(defect, contextOf('upload', { attempt: 4 })))).toBe('retry');
});

it('a failure and its causes fit into the 4 KiB that Temporal keeps of an attempt', () => {
  const list = z.array(z.object({ code: z.string() })).safeParse(Array.from({ length: 200 }, () => ({ code: 1 })));
  const message = `convert/file: ${'an answer of no use '.repeat(25)}`;
  const error = apiError('UNREADABLE_RESPONSE', { message, cause: list.error, httpStatus: 200 });
  const failure = toFailure(error, contextOf('check', { pauses: { initialMs: 1_000, maximumMs: 60_000 } }));
  const proto = defaultFailureConverter.errorToFailure(failure, defaultPayloadConverter);
  expect(proto.message).toContain(message);
  expect(proto.cause?.cause?.message).toContain('invalid_type');
  expect(temporal.api.failure.v1.Failure.encode(proto).finish().length).toBeLessThan(4_096);
});

describe('toFailure', () => {
  it.each([
    // Code, then the verdicts in upload, submit, check and download.
    ['INVALID_PARAMETER', 'fail', 'fail', 'retry', 'retry'],
    ['NOT_FOUND', 'fail', 'fail', 'retry', 'retry'],
    ['EMPTY_FILE', 'fail', 'fail', 'fail', 'fail'],
    ['NO_CONVERTER_INPUT_TO_OUTPUT', 'fail', 'fail', 'fail', 'fail'],
    ['FREE_PLAN_DISALLOWED', 'fail', 'fail', 'park', 'park'],
    ['INVALID_CREDENTIAL', 'fail', 'fail', 'park', 'park'],
    ['INSUFFICIENT_VCREDITS', 'park', 'park', 'retry', 'park'],
    ['TOO_MANY_REQUESTS', 'retry', 'retry', 'retry', 'retry'],
    ['FREE_APP_LIMITED', 'retry', 'retry', 'retry', 'retry'],
    ['NO_CONNECTOR_DEPENDENT_TASK', 'fail', 'uploadAgain', 'retry', 'retry'],
    ['NOT_READY_DEPENDENT_TASK', 'fail', 'uploadAgain', 'retry', 'retry'],
    ['FILE_NOT_EXISTS', 'fail', 'uploadAgain', 'retry', 'retry'],
    ['SERVICE_UNREACHABLE', 'retry', 'retry', 'retry', 'retry'],
    ['A_CODE_OF_TOMORROW', 'fail', 'fail', 'retry', 'retry'],
  ])('%s', (code, ...verdicts) => {
    expect(steps.map((step) => verdict(toFailure(apiError(code), contextOf(step))))).toEqual(verdicts);
  });

  it('has a verdict for every code of the table', () => {
    for (const code of Object.keys(errorCodes)) {
      for (const step of steps) {
        expect(['fail', 'retry', 'park', 'uploadAgain', 'submitAgain', 'taskLost']).toContain(
          verdict(toFailure(apiError(code), contextOf(step))),
        );
      }
    }
  });

  it.each(['INTERNAL_SERVER_ERROR', 'CONNECTION_LOST', 'REQUEST_TIMEOUT', 'UNREADABLE_RESPONSE', 'HTTP_502'])(
    'reports the outcome of a submit as unknown when %s leaves it open, and repeats every other step',
    (code) => {
      const error = apiError(code, { mayHaveExecuted: true, httpStatus: 502 });
      expect(steps.map((step) => verdict(toFailure(error, contextOf(step))))).toEqual([
        'retry',
        'outcomeUnknown',
        'retry',
        'retry',
      ]);
    },
  );

  it('lets the workflow submit again, and count it, if the answer to the submit is a task that failed at the service', () =>
    expect(verdict(toFailure(apiError('INTERNAL_SERVER_ERROR'), contextOf('submit')))).toBe('submitAgain'));

  it('never retries a submit after any error once its first byte may have been sent', () => {
    const failure = toFailure(new TypeError('a defect'), contextOf('submit', { sentUnrepeatable: true }));
    expect(verdict(failure)).toBe('outcomeUnknown');
    expect(verdict(toFailure(new TypeError('a defect'), contextOf('submit')))).toBe('retry');
  });

  it('waits the full RETRY-AFTER and marks a rate limit as benign', () => {
    const failure = toFailure(apiError('TOO_MANY_REQUESTS', { retryAfterSeconds: 90 }), contextOf('check'));
    expect(failure).toMatchObject({ nextRetryDelay: 90_000, category: ApplicationFailureCategory.BENIGN });
  });

  it("gives up an accepted task that the service can't find only after several answers over a minute", () => {
    const verdictOf = (code: string, endpoint: Endpoint, context: Partial<FailureContext>) =>
      verdict(toFailure(apiError(code, { endpoint }), contextOf('download', { serverNow: () => 60_000, ...context })));
    const overMinute = { missing: { answers: 4, since: 0 } };
    for (const code of [
      'NO_CONNECTOR_DEPENDENT_TASK',
      'MISMATCH_DEPENDENT_TASK',
      'FILE_NOT_EXISTS',
      'DOWNLOAD_EXPIRED',
    ]) {
      const ask = (context: Partial<FailureContext>) => verdictOf(code, endpoints.downloadUrl, context);
      expect(ask({ missing: { answers: 3, since: 0 } })).toBe('retry');
      expect(ask({ missing: { answers: 40, since: 1 } })).toBe('retry');
      // The first run keeps its task for a later one, which may conclude that it is lost.
      expect([ask(overMinute), ask({ ...overMinute, isEarlierTask: true })]).toEqual(['fail', 'taskLost']);
      // With shorter pauses, as many answers take less time.
      expect(ask({ pauses: { initialMs: 50, maximumMs: 200 }, missing: { answers: 4, since: 59_800 } })).toBe('fail');
    }
    // An answer about a link, or about a task that is not done, never ends the task.
    const ever = { missing: { answers: 99, since: 0 }, isEarlierTask: true };
    expect(verdictOf('NOT_READY_DEPENDENT_TASK', endpoints.downloadUrl, ever)).toBe('retry');
    expect(verdictOf('NO_CONNECTOR_DEPENDENT_TASK', endpoints.downloadUrlGet, ever)).toBe('retry');
    expect(verdictOf('DOWNLOAD_EXPIRED', endpoints.downloadUrlGet, ever)).toBe('taskLost');
  });

  it('treats an unlisted code by its HTTP status', () => {
    const of = (httpStatus: number, retryAfterSeconds?: number) => {
      const error = apiError('A_CODE_OF_TOMORROW', { httpStatus, retryAfterSeconds });
      return steps.map((step) => {
        const failure = toFailure(error, contextOf(step));
        const delay: unknown = failure instanceof ApplicationFailure ? failure.nextRetryDelay : undefined;
        return [verdict(failure), delay] as const;
      });
    };
    expect(of(429, 3)).toEqual(steps.map(() => ['retry', 3_000]));
    expect(of(503, 3)).toEqual(steps.map(() => ['retry', 3_000]));
    expect(of(408).map(([reaction]) => reaction)).toEqual(steps.map(() => 'retry'));
    expect(of(400).map(([reaction]) => reaction)).toEqual(['fail', 'fail', 'retry', 'retry']);
  });

  it('obeys a RETRY-AFTER with INTERNAL_SERVER_ERROR, and keeps it for a submit with an unknown outcome', () => {
    const error = apiError('INTERNAL_SERVER_ERROR', { httpStatus: 503, retryAfterSeconds: 4 });
    expect(toFailure(error, contextOf('check'))).toMatchObject({ nextRetryDelay: 4_000 });
    const open = apiError('INTERNAL_SERVER_ERROR', { httpStatus: 503, retryAfterSeconds: 4, mayHaveExecuted: true });
    expect(toFailure(open, contextOf('submit'))).toMatchObject({
      details: [{ reaction: 'outcomeUnknown', orderedWaitMs: 4_000 }],
    });
  });

  it('gives fitting advice: check the base URL for a missing endpoint, ask the operator about an unknown code', () => {
    const said = (code: string, step: FailureContext['step'] = 'upload') =>
      toFailure(apiError(code), contextOf(step)).message;
    expect(said('NOT_FOUND')).toContain('base URL of app acme');
    expect(said('POST_METHOD_ALLOWED')).toContain('base URL of app acme');
    expect(said('INVALID_PARAMETER')).toContain("Correct the job's input");
    expect(said('NO_CONNECTOR_DEPENDENT_TASK', 'submit')).toContain('start the job again from the file');
    expect(said('INTERNAL_SERVER_ERROR')).toContain("tell the service's operator");
    expect(said('A_CODE_OF_TOMORROW')).toContain('not a documented one');
  });

  it('gives up on a service after five unreadable answers in a row, but on a paid conversion only if its file is unreadable', () => {
    const error = apiError('UNREADABLE_RESPONSE');
    expect(verdict(toFailure(error, contextOf('upload')))).toBe('retry');
    expect(verdict(toFailure(error, contextOf('upload', { attempt: 5 })))).toBe('retry');
    expect(verdict(toFailure(error, contextOf('check', { unreadableInARow: 50 })))).toBe('retry');
    const last = toFailure(error, contextOf('upload', { unreadableInARow: 5 }));
    expect(verdict(last)).toBe('fail');
    expect(last.message).toContain('base URL of app acme');
    const bytes = apiError('UNREADABLE_RESPONSE', { endpoint: endpoints.downloadUrlGet });
    expect(verdict(toFailure(bytes, contextOf('download', { unreadableInARow: 4 })))).toBe('retry');
    expect(verdict(toFailure(bytes, contextOf('download', { unreadableInARow: 5 })))).toBe('fail');
  });

  it('retries a refused token at every step if there may be a new one', () => {
    const refused = apiError('INVALID_CREDENTIAL');
    const verdicts = steps.map((step) => verdict(toFailure(refused, contextOf(step, { mayHaveOtherToken: true }))));
    expect(verdicts).toEqual(['retry', 'retry', 'retry', 'retry']);
    // A submit that may have run was not refused.
    const open = apiError('INVALID_CREDENTIAL', { mayHaveExecuted: true });
    expect(verdict(toFailure(open, contextOf('submit', { mayHaveOtherToken: true })))).toBe('outcomeUnknown');
  });

  it('parks for a refused account, not for a refused file, if the job asked for it or the conversion is paid for', () => {
    const verdictsOf = (code: string, parksRefused: boolean) =>
      steps.map((step) =>
        verdict(toFailure(apiError(code), contextOf(step, parksRefused ? { parking: { parksRefused } } : {}))),
      );
    for (const code of ['INVALID_CREDENTIAL', 'FREE_PLAN_DISALLOWED']) {
      expect(verdictsOf(code, false)).toEqual(['fail', 'fail', 'park', 'park']);
      expect(verdictsOf(code, true)).toEqual(['park', 'park', 'park', 'park']);
    }
    for (const code of ['ONLY_DEVELOPMENT_FILE', 'SERVICE_UNREACHABLE', 'HTTP_403', 'NOT_FOUND']) {
      expect(verdictsOf(code, true)).not.toContain('park');
    }
  });

  it('retries a parked job until its deadline, and reports a different reason', () => {
    const parked = { reason: 'credits', code: 'INSUFFICIENT_VCREDITS', message: 'none', until: 5_000 } as const;
    const context = (serverNow: number, pauses = { initialMs: 1_000, maximumMs: 60_000 }) =>
      contextOf('submit', { parking: { parked, parksRefused: true }, pauses, serverNow: () => serverNow });
    const short = apiError('INSUFFICIENT_VCREDITS');
    expect(toFailure(short, context(4_000))).toMatchObject({ nonRetryable: false, nextRetryDelay: 1_000 });
    expect(toFailure(short, { ...context(0), probeAfterMs: 60_000 })).toMatchObject({ nextRetryDelay: 5_000 });
    expect(verdict(toFailure(short, context(5_000)))).toBe('park');
    expect(verdict(toFailure(apiError('INVALID_CREDENTIAL'), context(0)))).toBe('park');
  });

  it('passes cancellation through untouched, also from an aborted request', () => {
    const cancelled = new CancelledFailure('CANCELLED');
    expect(toFailure(cancelled, contextOf('upload'))).toBe(cancelled);
    expect(toFailure(apiError('REQUEST_ABORTED', { cause: cancelled }), contextOf('upload'))).toBe(cancelled);
  });

  it('waits for room if something is or will be paid for, and then looks again on its own', () => {
    const full = new StorageError({ code: 'DESTINATION_FULL', message: 'no room', uri: 'file:///a' });
    const parked = {
      reason: 'room',
      code: 'DESTINATION_FULL',
      message: 'full',
      until: Date.now() + 3_600_000,
    } as const;
    const awaited = { parking: { parked }, pauses: { initialMs: 1_000, maximumMs: 60_000 }, attempt: 20 };
    for (const step of ['submit', 'download'] as const) {
      expect(verdict(toFailure(full, contextOf(step)))).toBe('park');
      const again = toFailure(full, contextOf(step, awaited));
      expect(verdict(again)).toBe('retry');
      expect(again).toMatchObject({ category: ApplicationFailureCategory.BENIGN });
      const nextRetryDelay: unknown = again instanceof ApplicationFailure ? again.nextRetryDelay : undefined;
      expect(nextRetryDelay).toBeGreaterThanOrEqual(60_000);
      expect(nextRetryDelay).toBeLessThanOrEqual(66_000);
    }
    expect(verdict(toFailure(full, contextOf('batch')))).toBe('retry');
    expect(verdict(toFailure(full, contextOf('plan')))).toBe('retry');
  });

  it('retries only storage failures that can resolve themselves', () => {
    const failure = (code: 'SOURCE_NOT_FOUND' | 'SIZE_MISMATCH', retryable: boolean) =>
      verdict(toFailure(new StorageError({ code, message: code, uri: 'file:///a', retryable }), contextOf('upload')));
    expect([failure('SOURCE_NOT_FOUND', false), failure('SIZE_MISMATCH', true)]).toEqual(['fail', 'retry']);
  });

  it('retries an unknown app profile, since another worker may have it', () =>
    expect(verdict(toFailure(new UnknownAppError('no such profile'), contextOf('upload')))).toBe('retry'));

  it('keeps code, status and endpoint in the details, and the code as the type', () => {
    const failure = toFailure(
      apiError('INVALID_CREDENTIAL', { httpStatus: 403 }),
      contextOf('submit', { taskId: 't-1' }),
    );
    expect(failure).toMatchObject({
      type: 'INVALID_CREDENTIAL',
      details: [
        { code: 'INVALID_CREDENTIAL', httpStatus: 403, endpoint: 'v1/convert/file', taskId: 't-1', requests: 1 },
      ],
    });
    expect(failure.message).toContain('fileconv config show');
  });
});

describe('taskFailure', () => {
  it("separates the service's message from the advice, with or without a final full stop", () => {
    const messageOf = (message: string) => taskFailure({ code: 'FAILED_CONVERT', message }, contextOf('check')).message;
    expect(messageOf('it is cut off (line 3)')).toContain('it is cut off (line 3). Check the file');
    expect(messageOf('it is cut off.')).toContain('it is cut off. Check the file');
  });

  it.each([
    ['FAILED_CONVERT', 'fail'],
    ['INSUFFICIENT_VCREDITS', 'park'],
    // A failed task is not charged, so it may be submitted again.
    ['INTERNAL_SERVER_ERROR', 'submitAgain'],
    ['FILE_NOT_EXISTS', 'uploadAgain'],
    ['A_CODE_OF_TOMORROW', 'fail'],
  ])('reacts to %s in a completed task with %s', (code, reaction) => {
    expect(verdict(taskFailure({ code, message: 'so it is.' }, contextOf('check')))).toBe(reaction);
  });
});

it('replaces half a character, which ends a worker, also in the message of a refused plan', () => {
  const problems = { count: 1, listed: [{ code: 'SOURCE_NOT_FOUND' as const, message: 'x\ud83d.md does not exist.' }] };
  const context = { step: 'plan' as const, app: 'stub', attempt: 1, requests: 0 };
  expect(toFailure(new RefusedPlanError(problems), context).message).toBe('x\ufffd.md does not exist.');
});
