import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  TimeoutFailure,
  proxyActivities,
  proxyLocalActivities,
  sleep,
  workflowInfo,
  type ActivityOptions,
} from '@temporalio/workflow';
import {
  isStepResult,
  readAccepted,
  readFence,
  type CheckTaskInput,
  type ConversionActivities,
  type ConvertFileInput,
  type DiscardDownloadInput,
  type DownloadFileInput,
  type RecallJobInput,
  type UploadFileInput,
} from '../../job/activities';
import { lastSegment } from '../../job/types';
import { detailsOf } from './job-failure';
import type { ResolvedPolicies } from './policies';

/** A lost worker is detected after this long without a heartbeat. */
const heartbeatTimeout = '10 seconds';
/** Longer, so that a sync request survives a short outage of Temporal; a lost worker is detected that much later. */
const syncHeartbeatTimeout = '1 minute';

interface StepOptions {
  summary: string;
  deadlineMs: number;
}

export type JobActivities = ReturnType<typeof createJobActivities>;

export function createJobActivities(policies: ResolvedPolicies, waits: OrderedWaits) {
  const retry = {
    initialInterval: policies.retryInitialIntervalMs,
    maximumInterval: Math.max(policies.retryMaximumIntervalMs, policies.retryInitialIntervalMs),
    // The activities set their own backoff (nextRetryDelay); after a lost worker the retry starts at once.
    backoffCoefficient: 1,
  };
  // A cancelled job waits for them: an upload still reports its marker, a download removes its temporary file.
  const cancellationType = ActivityCancellationType.WAIT_CANCELLATION_COMPLETED;
  const transfer = { heartbeatTimeout, retry, cancellationType };
  const step = <T>(
    { deadlineMs, ...options }: ActivityOptions & { deadlineMs: number },
    run: (proxy: ConversionActivities, isAgain: boolean) => Promise<T>,
  ) =>
    waits.obey(deadlineMs, (scheduleToCloseTimeout, isAgain) =>
      run(activities({ ...options, scheduleToCloseTimeout }), isAgain),
    );

  return {
    recallJob: (input: RecallJobInput) => {
      const options = {
        startToCloseTimeout: '1 hour',
        scheduleToCloseTimeout: '1 day',
        heartbeatTimeout,
        retry,
      } as const;
      return activities(options)['conversion.recallJob'](input).then(ownResult);
    },

    uploadFile: (input: UploadFileInput, deadlineMs: number) =>
      step({ ...transfer, summary: lastSegment(input.uri), deadlineMs }, (run) => run['conversion.uploadFile'](input)),

    convertFile: (input: ConvertFileInput, { summary, deadlineMs }: StepOptions) =>
      cancelledOnlyUnsent(() =>
        step(
          {
            summary,
            deadlineMs,
            heartbeatTimeout: input.mode === 'sync' ? syncHeartbeatTimeout : heartbeatTimeout,
            startToCloseTimeout: policies.submitTimeoutMs,
            // After the loss of a worker that may have sent the request, the next attempt finds its fence.
            retry,
            // A request in flight is completed, so that a cancelled job still knows its task.
            cancellationType,
          },
          (run) => run['conversion.convertFile'](input),
        ),
      ),

    checkTask: (input: CheckTaskInput, deadlineMs: number) =>
      step(
        { summary: `task ${input.taskId}`, deadlineMs, heartbeatTimeout, startToCloseTimeout: '2 minutes', retry },
        (run) => run['conversion.checkTask'](input),
      ),

    downloadFile: (input: DownloadFileInput, { summary, deadlineMs }: StepOptions) =>
      step({ ...transfer, summary, deadlineMs }, (run, isAgain) =>
        run['conversion.downloadFile'](isAgain ? { ...input, mayBeDelivered: true } : input),
      ),

    /** Removes files that a job without a result left at the destination. */
    discardDownload: (input: DiscardDownloadInput) =>
      activities({ startToCloseTimeout: '1 minute', scheduleToCloseTimeout: '1 hour', retry })[
        'conversion.discardDownload'
      ](input),
  };
}

/** Going on with a result that an operator has typed, a job would miscount what it paid. */
function ownResult<T>(result: T): T {
  if (isStepResult(result)) return result;
  const message = 'a step was completed by hand in Temporal, with a result that it could not have had itself.';
  throw ApplicationFailure.nonRetryable(message);
}

/** The server propagates a job's priority, but the worker's rate limit queue sees only one that is set explicitly. */
function activities(options: ActivityOptions): ConversionActivities {
  const { priorityKey = 0 } = workflowInfo().priority ?? {};
  return proxyActivities<ConversionActivities>({
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    ...(priorityKey > 0 && { priority: { priorityKey } }),
    ...options,
  });
}

/** Local, because the submits of other cancelled jobs may have taken all slots, and are sent until they are cancelled. */
const { 'conversion.isUnsent': isUnsent } = proxyLocalActivities<ConversionActivities>({
  startToCloseTimeout: '1 minute',
});
const maxLookAgainMs = 30_000;

/**
 * Runs a submit that is not cancelled while it may have been sent. If its worker was lost, Temporal would cancel it without an attempt that
 * finds the fence, and forget the fence. Few promises, as in `obey`.
 */
function cancelledOnlyUnsent<T>(submit: () => Promise<T>): Promise<T> {
  const { cancelRequested, consideredCancelled } = CancellationScope.current();
  if (consideredCancelled) return submit();
  const shield = new CancellationScope({ cancellable: false });
  const scope = new CancellationScope({ cancellable: true, parent: shield });
  let isOver = false;
  const over = () => void (isOver = true);
  const untilUnsent = async () => {
    for (let pauseMs = 1_000; !isOver && !(await isUnsent()); pauseMs = Math.min(2 * pauseMs, maxLookAgainMs)) {
      await sleep(pauseMs, { summary: 'for the answer to the submit' });
    }
    scope.cancel();
  };
  const submitted = scope.run(submit);
  submitted.then(over, over);
  cancelRequested.catch(() => shield.run(untilUnsent));
  return submitted;
}

/**
 * For a cancelled activity, Temporal reports the failure of its last attempt instead of retrying. If that failure was
 * retryable, or the loss of a worker that had sent no convert request, the job was cancelled and has not failed.
 */
function asCancellation(error: unknown): unknown {
  if (!(error instanceof ActivityFailure) || !CancellationScope.current().consideredCancelled) return error;
  const { cause, retryState } = error;
  const wouldBeRetried =
    retryState === 'CANCEL_REQUESTED' && cause instanceof ApplicationFailure && cause.nonRetryable !== true;
  const details: unknown = cause instanceof TimeoutFailure ? cause.lastHeartbeatDetails : undefined;
  const isLost = cause instanceof TimeoutFailure && !readFence(details) && !readAccepted(details);
  if (!wouldBeRetried && !isLost) return error;
  return new CancelledFailure(`cancelled; last: ${cause.message}`, [], error);
}

/** Minimum time for an attempt after a wait that ended at the end of the deadline. */
const minLeftMs = 60_000;

/**
 * Waits ordered by the service (section "Limits") that exceed the step's deadline: the job sleeps, and the deadline moves by the same
 * time. The deadline of parked jobs bounds their sum.
 */
export class OrderedWaits {
  waitedMs = 0;

  /** `onWait` receives the end of the wait, in milliseconds since the epoch. */
  constructor(
    private readonly maxMs: number,
    private readonly onWait?: (untilMs: number, message: string) => void,
  ) {}

  /**
   * Runs a step within its deadline, and again after each ordered wait that did not fit into it; also once more if no worker took it by
   * the deadline, since one is running now. Few promise layers: the SDK captures a stack trace for each promise in a workflow. So each result
   * is checked here, too.
   */
  obey<T>(deadlineMs: number, run: (deadlineMs: number, isAgain: boolean) => Promise<T>): Promise<T> {
    const deadline = Date.now() + deadlineMs;
    const waitedBefore = this.waitedMs;
    const attempt = (leftMs: number, isAgain: boolean): Promise<T> =>
      run(leftMs, isAgain).then(ownResult, async (error: unknown) => {
        if (!isAgain && wasNeverTaken(error)) return attempt(leftMs, true);
        const order = readOrder(error);
        if (!order || this.waitedMs + order.waitMs > this.maxMs) throw asCancellation(error);
        this.onWait?.(Date.now() + order.waitMs, order.message);
        await sleep(order.waitMs, { summary: 'the service wants a pause' });
        this.waitedMs += order.waitMs;
        const restMs = deadline + this.waitedMs - waitedBefore - Date.now();
        return attempt(Math.max(restMs, Math.min(deadlineMs, minLeftMs)), true);
      });
    return attempt(deadlineMs, false);
  }
}

/** Timed out without a failed attempt or a heartbeat. */
function wasNeverTaken(error: unknown): boolean {
  const timeout = error instanceof ActivityFailure ? error.cause : undefined;
  const isOverdue = timeout instanceof TimeoutFailure && timeout.timeoutType?.startsWith('SCHEDULE_TO_') === true;
  return isOverdue && timeout.cause === undefined && timeout.lastHeartbeatDetails === undefined;
}

/** The server ended the step because its next attempt would have come after the deadline. */
function readOrder(error: unknown): { waitMs: number; message: string } | undefined {
  if (!(error instanceof ActivityFailure) || error.retryState !== 'TIMEOUT') return undefined;
  const { cause } = error;
  if (!(cause instanceof ApplicationFailure)) return undefined;
  const { orderedWaitMs } = detailsOf(cause);
  return typeof orderedWaitMs === 'number' && orderedWaitMs > 0
    ? { waitMs: orderedWaitMs, message: cause.message }
    : undefined;
}
