import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  TimeoutFailure,
  proxyActivities,
  workflowInfo,
  type ActivityOptions,
} from '@temporalio/workflow';
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
} from '../../shared/activities';
import { lastSegment } from '../../shared/job';
import type { OrderedWaits } from './ordered-waits';
import type { ResolvedPolicies } from './policies';

/** A lost worker is detected after this long without a heartbeat. */
const heartbeatTimeout = '10 seconds';
/** Longer: a sync request must survive a short outage of Temporal. A lost worker is detected that much later. */
const syncHeartbeatTimeout = '1 minute';

export interface StepOptions {
  /** Shown in the Temporal UI. Default: the source's name, or the task. */
  summary?: string;
  /** Default: the policy's. */
  deadlineMs?: number;
}

/** The activities of a job, each with its time-outs and retries. */
export interface JobActivities {
  uploadFile(input: UploadFileInput, options?: StepOptions): Promise<UploadFileResult>;
  convertFile(input: ConvertFileInput, options?: StepOptions): Promise<ConvertFileResult>;
  checkTask(input: CheckTaskInput, options?: StepOptions): Promise<CheckTaskResult>;
  downloadFile(input: DownloadFileInput, options?: StepOptions): Promise<DownloadFileResult>;
  /** Removes what a job without a result left at the destination. */
  discardDownload(input: DiscardDownloadInput): Promise<void>;
}

export function createJobActivities(
  policies: Omit<ResolvedPolicies, 'onExisting'>,
  waits: OrderedWaits,
): JobActivities {
  const retry = {
    initialInterval: policies.retryInitialIntervalMs,
    maximumInterval: Math.max(policies.retryMaximumIntervalMs, policies.retryInitialIntervalMs),
    // The activities back off by themselves (nextRetryDelay); after a lost worker the retry starts at once.
    backoffCoefficient: 1,
  };
  // A cancelled job waits: an upload still reports its marker, a download removes its temporary file.
  const cancellationType = ActivityCancellationType.WAIT_CANCELLATION_COMPLETED;
  const transfer = { heartbeatTimeout, retry, cancellationType };

  return {
    uploadFile: (input, { summary = lastSegment(input.uri), deadlineMs = policies.uploadDeadlineMs } = {}) =>
      waits.obey(
        deadlineMs,
        (scheduleToCloseTimeout) =>
          activities({ ...transfer, summary, scheduleToCloseTimeout })['conversion.uploadFile'](input),
        (error) => asCancellation(error, { isRepeatSafe: true }),
      ),

    convertFile: (input, { summary = input.sourceName, deadlineMs = policies.submitDeadlineMs } = {}) =>
      waits.obey(
        deadlineMs,
        (scheduleToCloseTimeout) =>
          activities({
            summary,
            heartbeatTimeout: input.mode === 'sync' ? syncHeartbeatTimeout : heartbeatTimeout,
            startToCloseTimeout: policies.submitTimeoutMs,
            scheduleToCloseTimeout,
            // A lost worker may have sent the request: the workflow decides, the server must not retry.
            retry: { ...retry, nonRetryableErrorTypes: ['TemporalTimeout:StartToClose', 'TemporalTimeout:Heartbeat'] },
            // A request in flight is completed, so that a cancelled job still knows its task.
            cancellationType,
          })['conversion.convertFile'](input),
        (error) => asCancellation(error, { isRepeatSafe: false }),
      ),

    checkTask: (input, { summary = `task ${input.taskId}`, deadlineMs = policies.conversionDeadlineMs } = {}) =>
      waits.obey(deadlineMs, (scheduleToCloseTimeout) =>
        activities({ summary, heartbeatTimeout, startToCloseTimeout: '2 minutes', scheduleToCloseTimeout, retry })[
          'conversion.checkTask'
        ](input),
      ),

    downloadFile: (input, { summary = input.sourceName, deadlineMs = policies.downloadDeadlineMs } = {}) =>
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

/** The server propagates a job's priority, but the worker's rate limit queue sees only one that is set explicitly. */
function activities(options: ActivityOptions): ConversionActivities {
  const { priorityKey = 0 } = workflowInfo().priority ?? {};
  return proxyActivities<ConversionActivities>({
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    ...(priorityKey > 0 && { priority: { priorityKey } }),
    ...options,
  });
}

/**
 * Temporal does not retry a cancelled activity whose last attempt failed, but reports that failure. If it was
 * retryable, or a lost worker whose step is safe to repeat, the job was cancelled and has not failed.
 */
function asCancellation(error: unknown, { isRepeatSafe }: { isRepeatSafe: boolean }): unknown {
  if (!(error instanceof ActivityFailure) || !CancellationScope.current().consideredCancelled) return error;
  const { cause, retryState } = error;
  const wouldBeRetried =
    retryState === 'CANCEL_REQUESTED' && cause instanceof ApplicationFailure && cause.nonRetryable !== true;
  if (!wouldBeRetried && !(isRepeatSafe && cause instanceof TimeoutFailure)) return error;
  return new CancelledFailure(`cancelled; last: ${cause.message}`, [], error);
}
