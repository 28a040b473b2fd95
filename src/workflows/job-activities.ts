import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  TimeoutFailure,
  proxyActivities,
  workflowInfo,
} from '@temporalio/workflow';
import type { ActivityOptions } from '@temporalio/workflow';
import type {
  CheckTaskInput,
  CheckTaskResult,
  ConversionActivities,
  ConvertFileInput,
  ConvertFileResult,
  DiscardDownloadInput,
  DownloadFileInput,
  DownloadFileResult,
  UploadFileInput,
  UploadFileResult,
} from '../shared/activities';
import type { OrderedWaits } from './ordered-waits';
import type { ResolvedPolicies } from './policies';

/** A lost worker is noticed after this long without a heartbeat. */
const heartbeatTimeout = '10 seconds';
/** An answer that takes as long as the conversion outlives a short absence of Temporal; a lost worker is noticed so much later. */
const syncHeartbeatTimeout = '1 minute';

/** The calls of the document as activities, each with the time-outs and retries that fit it. */
export interface JobActivities {
  uploadFile(input: UploadFileInput, summary: string): Promise<UploadFileResult>;
  convertFile(input: ConvertFileInput, options: { summary: string; deadlineMs: number }): Promise<ConvertFileResult>;
  checkTask(input: CheckTaskInput, options: { summary: string; deadlineMs: number }): Promise<CheckTaskResult>;
  downloadFile(input: DownloadFileInput, options: { summary: string; deadlineMs: number }): Promise<DownloadFileResult>;
  discardDownload(input: DiscardDownloadInput): Promise<void>;
}

export function createJobActivities(policies: ResolvedPolicies, waits: OrderedWaits): JobActivities {
  const retry = {
    initialInterval: policies.retryInitialIntervalMs,
    maximumInterval: Math.max(policies.retryMaximumIntervalMs, policies.retryInitialIntervalMs),
    // The activities let the pause between failures grow by themselves; a lost worker is replaced at once, however many attempts there were.
    backoffCoefficient: 1,
  };
  // A cancelled job waits for it: an upload tells what it has left in the destination's folder, a download removes its temporary file.
  const cancellationType = ActivityCancellationType.WAIT_CANCELLATION_COMPLETED;
  const transfer = { heartbeatTimeout, retry, cancellationType };

  return {
    uploadFile: (input, summary) =>
      waits.obey(
        policies.uploadDeadlineMs,
        (scheduleToCloseTimeout) =>
          activities({ ...transfer, summary, scheduleToCloseTimeout })['conversion.uploadFile'](input),
        (error) => asCancellation(error, { isRepeatSafe: true }),
      ),

    convertFile: (input, { summary, deadlineMs }) =>
      waits.obey(
        deadlineMs,
        (scheduleToCloseTimeout) =>
          activities({
            summary,
            heartbeatTimeout: input.mode === 'sync' ? syncHeartbeatTimeout : heartbeatTimeout,
            startToCloseTimeout: policies.submitTimeoutMs,
            scheduleToCloseTimeout,
            // A lost worker or a time-out may have sent the request: the workflow decides, the server does not retry.
            retry: { ...retry, nonRetryableErrorTypes: ['TemporalTimeout:StartToClose', 'TemporalTimeout:Heartbeat'] },
            // A request that has begun is seen to its end, so that a cancelled job still knows its task.
            cancellationType,
          })['conversion.convertFile'](input),
        (error) => asCancellation(error, { isRepeatSafe: false }),
      ),

    checkTask: (input, { summary, deadlineMs }) =>
      waits.obey(deadlineMs, (scheduleToCloseTimeout) =>
        activities({ summary, heartbeatTimeout, startToCloseTimeout: '2 minutes', scheduleToCloseTimeout, retry })[
          'conversion.checkTask'
        ](input),
      ),

    downloadFile: (input, { summary, deadlineMs }) =>
      waits.obey(
        deadlineMs,
        (scheduleToCloseTimeout) =>
          activities({ ...transfer, summary, scheduleToCloseTimeout })['conversion.downloadFile'](input),
        (error) => asCancellation(error, { isRepeatSafe: true }),
      ),

    discardDownload: (input) =>
      activities({ startToCloseTimeout: '1 minute', scheduleToCloseTimeout: '1 hour', retry })[
        'conversion.discardDownload'
      ](input),
  };
}

/** The server gives a job's priority to its activities too, but only one that is named reaches the worker, whose line at the rate limit asks for it. */
function activities(options: ActivityOptions): ConversionActivities {
  const { priorityKey = 0 } = workflowInfo().priority ?? {};
  return proxyActivities<ConversionActivities>({
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    ...(priorityKey > 0 && { priority: { priorityKey } }),
    ...options,
  });
}

/**
 * A cancelled activity whose last attempt failed is not retried, and Temporal then tells of the failure. One that would have been retried
 * is no failure of the job: its end is the cancellation. So is a lost worker, where it matters to nobody what it had done.
 */
function asCancellation(error: unknown, { isRepeatSafe }: { isRepeatSafe: boolean }): unknown {
  if (!(error instanceof ActivityFailure) || !CancellationScope.current().consideredCancelled) return error;
  const { cause, retryState } = error;
  const wouldBeRetried =
    retryState === 'CANCEL_REQUESTED' && cause instanceof ApplicationFailure && cause.nonRetryable !== true;
  if (!wouldBeRetried && !(isRepeatSafe && cause instanceof TimeoutFailure)) return error;
  return new CancelledFailure(`cancelled; last: ${cause.message}`, [], error);
}
