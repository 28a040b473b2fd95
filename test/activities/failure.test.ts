import {
  ApplicationFailure,
  ApplicationFailureCategory,
  CancelledFailure,
  defaultFailureConverter,
  defaultPayloadConverter,
} from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { z } from 'zod';
import { toFailure, UnknownAppError, type FailureContext } from '../../src/activities/failure';
import { taskFailure } from '../../src/activities/check-task';
import { endpoints } from '../../src/contract/endpoints';
import { errorCodes } from '../../src/contract/error-codes';
import { ConversionApiError } from '../../src/http/errors';
import type { ActivityFailureDetails } from '../../src/shared/activities';
import { StorageError } from '../../src/storage/errors';

const steps = ['upload', 'submit', 'check', 'download'] as const;

function contextOf(step: FailureContext['step'], overrides: Partial<FailureContext> = {}): FailureContext {
  return { step, app: 'acme', attempt: 1, requests: 1, ...overrides };
}

function apiError(code: string, overrides: Partial<ConstructorParameters<typeof ConversionApiError>[0]> = {}) {
  return new ConversionApiError({
    code,
    message: `${code} happened.`,
    endpoint: endpoints.convertFile,
    mayHaveExecuted: false,
    ...overrides,
  });
}

/** What the workflow and the server make of a failure: `retry`, or the job's reaction. */
function verdict(failure: Error): string {
  if (!(failure instanceof ApplicationFailure)) throw new Error('not an ApplicationFailure', { cause: failure });
  const details = failure.details?.[0] as ActivityFailureDetails;
  return failure.nonRetryable ? details.reaction : 'retry';
}

it('a failure that is tried again asks for its pause itself, unless it was told a time or the server sees to it', () => {
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
  // A poll of a refused account can only be refused again.
  expect(delayOf(apiError('FREE_PLAN_DISALLOWED'), { pauses })).toBe(60_000);
  expect(delayOf(apiError('ONLY_DEVELOPMENT_REQUEST'), { pauses })).toBe(1_000);
  expect(delayOf(apiError('EMPTY_FILE'), { pauses, attempt: 3 })).toBeUndefined();
});

it('a failure and its causes have room in what Temporal keeps of an attempt, 4 KiB', () => {
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
    // code, then the verdict in upload, submit, check, download
    ['INVALID_PARAMETER', 'fail', 'fail', 'retry', 'retry'],
    ['NOT_FOUND', 'fail', 'fail', 'retry', 'retry'],
    ['EMPTY_FILE', 'fail', 'fail', 'fail', 'fail'],
    ['NO_CONVERTER_INPUT_TO_OUTPUT', 'fail', 'fail', 'fail', 'fail'],
    ['FREE_PLAN_DISALLOWED', 'fail', 'fail', 'retry', 'retry'],
    ['INVALID_CREDENTIAL', 'fail', 'fail', 'retry', 'retry'],
    ['INSUFFICIENT_VCREDITS', 'awaitCredits', 'awaitCredits', 'retry', 'awaitCredits'],
    ['TOO_MANY_REQUESTS', 'retry', 'retry', 'retry', 'retry'],
    ['FREE_APP_LIMITED', 'retry', 'retry', 'retry', 'retry'],
    ['NO_CONNECTOR_DEPENDENT_TASK', 'fail', 'uploadAgain', 'taskLost', 'taskLost'],
    ['NOT_READY_DEPENDENT_TASK', 'fail', 'uploadAgain', 'taskLost', 'taskLost'],
    ['FILE_NOT_EXISTS', 'fail', 'uploadAgain', 'taskLost', 'taskLost'],
    ['SERVICE_UNREACHABLE', 'retry', 'retry', 'retry', 'retry'],
    ['A_CODE_OF_TOMORROW', 'fail', 'fail', 'retry', 'retry'],
  ])('%s', (code, ...verdicts) => {
    expect(steps.map((step) => verdict(toFailure(apiError(code), contextOf(step))))).toEqual(verdicts);
  });

  it('knows a verdict for every code of the table', () => {
    for (const code of Object.keys(errorCodes)) {
      for (const step of steps) {
        expect(['fail', 'retry', 'awaitCredits', 'uploadAgain', 'submitAgain', 'taskLost']).toContain(
          verdict(toFailure(apiError(code), contextOf(step))),
        );
      }
    }
  });

  it.each(['INTERNAL_SERVER_ERROR', 'CONNECTION_LOST', 'REQUEST_TIMEOUT', 'UNREADABLE_RESPONSE', 'HTTP_502'])(
    'calls the outcome of a submit unknown when %s leaves it open, and repeats every other step',
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

  it('lets the workflow submit again, and count it, when the answer to the submit is a task that the service failed', () => {
    expect(verdict(toFailure(apiError('INTERNAL_SERVER_ERROR'), contextOf('submit')))).toBe('submitAgain');
  });

  it('never retries a submit after an error of any kind once its first byte may have been sent', () => {
    const failure = toFailure(new TypeError('a defect'), contextOf('submit', { sentUnrepeatable: true }));
    expect(verdict(failure)).toBe('outcomeUnknown');
    expect(verdict(toFailure(new TypeError('a defect'), contextOf('submit')))).toBe('retry');
  });

  it('waits the full RETRY-AFTER and does not call a rate limit an error', () => {
    const failure = toFailure(apiError('TOO_MANY_REQUESTS', { retryAfterSeconds: 90 }), contextOf('check'));
    expect(failure).toMatchObject({ nextRetryDelay: 90_000, category: ApplicationFailureCategory.BENIGN });
  });

  it('asks for a new download URL a few times, but not for a result that is gone', () => {
    const old = apiError('DOWNLOAD_EXPIRED', { endpoint: endpoints.downloadUrlGet });
    expect(verdict(toFailure(old, contextOf('download')))).toBe('retry');
    expect(verdict(toFailure(old, contextOf('download', { attempt: 3 })))).toBe('taskLost');
    const gone = apiError('DOWNLOAD_EXPIRED', { endpoint: endpoints.downloadUrl });
    expect(verdict(toFailure(gone, contextOf('download')))).toBe('taskLost');
  });

  it('gives up on a service that five times in a row answers nothing readable; of a conversion that is paid for only on its file', () => {
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

  it('tries a refused token again at every step where there may be another one', () => {
    const refused = apiError('INVALID_CREDENTIAL');
    const verdicts = steps.map((step) => verdict(toFailure(refused, contextOf(step, { mayHaveOtherToken: true }))));
    expect(verdicts).toEqual(['retry', 'retry', 'retry', 'retry']);
    // A submit that may have run is no refusal.
    const open = apiError('INVALID_CREDENTIAL', { mayHaveExecuted: true });
    expect(verdict(toFailure(open, contextOf('submit', { mayHaveOtherToken: true })))).toBe('outcomeUnknown');
  });

  it('tells a refusal of the account from one of a file', () => {
    const refusesAccount = (code: string) => {
      const failure = toFailure(apiError(code), contextOf('upload'));
      return failure instanceof ApplicationFailure && (failure.details?.[0] as ActivityFailureDetails).refusesAccount;
    };
    expect(['INVALID_CREDENTIAL', 'FREE_PLAN_DISALLOWED'].map(refusesAccount)).toEqual([true, true]);
    const others = ['ONLY_DEVELOPMENT_FILE', 'SERVICE_UNREACHABLE', 'HTTP_403', 'NOT_FOUND', 'UNKNOWN_APP'];
    expect(others.filter(refusesAccount)).toEqual([]);
  });

  it('passes cancellation through untouched, also out of an aborted request', () => {
    const cancelled = new CancelledFailure('CANCELLED');
    expect(toFailure(cancelled, contextOf('upload'))).toBe(cancelled);
    expect(toFailure(apiError('REQUEST_ABORTED', { cause: cancelled }), contextOf('upload'))).toBe(cancelled);
  });

  it('waits for room where something is to be paid or has been, and looks again by itself once it waits', () => {
    const full = new StorageError({ code: 'DESTINATION_FULL', message: 'no room', uri: 'file:///a' });
    const awaited = { isRoomAwaited: true, pauses: { initialMs: 1_000, maximumMs: 60_000 }, attempt: 20 };
    for (const step of ['submit', 'download'] as const) {
      expect(verdict(toFailure(full, contextOf(step)))).toBe('awaitRoom');
      const again = toFailure(full, contextOf(step, awaited));
      expect(verdict(again)).toBe('retry');
      expect(again).toMatchObject({ category: ApplicationFailureCategory.BENIGN });
      const nextRetryDelay: unknown = again instanceof ApplicationFailure ? again.nextRetryDelay : undefined;
      expect(nextRetryDelay).toBeGreaterThanOrEqual(45_000);
      expect(nextRetryDelay).toBeLessThanOrEqual(60_000);
    }
    expect(verdict(toFailure(full, contextOf('batch')))).toBe('retry');
  });

  it('retries only those storage failures that can repair themselves', () => {
    const failure = (code: 'SOURCE_NOT_FOUND' | 'SIZE_MISMATCH', retryable: boolean) =>
      verdict(toFailure(new StorageError({ code, message: code, uri: 'file:///a', retryable }), contextOf('upload')));
    expect([failure('SOURCE_NOT_FOUND', false), failure('SIZE_MISMATCH', true)]).toEqual(['fail', 'retry']);
  });

  it('tries an unknown app profile again: another worker may have it', () => {
    expect(verdict(toFailure(new UnknownAppError('no such profile'), contextOf('upload')))).toBe('retry');
  });

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
  it('keeps what the service says apart from the advice, however that ends', () => {
    const messageOf = (message: string) => taskFailure({ code: 'FAILED_CONVERT', message }, contextOf('check')).message;
    expect(messageOf('it is cut off (line 3)')).toContain('it is cut off (line 3). Check the file');
    expect(messageOf('it is cut off.')).toContain('it is cut off. Check the file');
  });

  it.each([
    ['FAILED_CONVERT', 'fail'],
    ['INSUFFICIENT_VCREDITS', 'awaitCredits'],
    // A failed task is not charged, so it may be submitted again.
    ['INTERNAL_SERVER_ERROR', 'submitAgain'],
    ['FILE_NOT_EXISTS', 'uploadAgain'],
    ['A_CODE_OF_TOMORROW', 'fail'],
  ])('reacts to %s in a completed task with %s', (code, reaction) => {
    expect(verdict(taskFailure({ code, message: 'so it is.' }, contextOf('check')))).toBe(reaction);
  });
});
