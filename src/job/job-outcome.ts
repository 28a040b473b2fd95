import { ApplicationFailure, CancelledFailure, TerminatedFailure, TimeoutFailure } from '@temporalio/common';
import { failureCodes } from './activities';
import type { EarlierRuns } from './charge';
import { defined } from './defined';
import type { ConversionFailureDetails, ConversionJobResult, JobOutcome } from './types';
import { hasAny } from './warnings';

/** Longer messages are cut, because results are kept by the thousand. */
const maxMessageLength = 1_000;

/** The part of a job's result that a batch keeps. */
export function outcomeOfResult(result: ConversionJobResult): JobOutcome {
  const { status, missing } = result;
  return defined({ status, ...told(result), missing });
}

/** The part of a failed job's end that a batch keeps. Without `charge`, only the history tells whether it may be charged. */
export function outcomeOfFailure(cause: unknown): JobOutcome {
  if (cause instanceof ApplicationFailure) {
    const details = (cause.details?.[0] ?? {}) as Partial<ConversionFailureDetails>;
    return defined({
      status: cause.type === failureCodes.resultSuspect ? ('suspect' as const) : ('failed' as const),
      code: cause.type ?? 'FAILED',
      message: cutText(cause.message, maxMessageLength),
      phase: details.phase,
      ...told(details),
      kept: details.kept,
    });
  }
  if (cause instanceof CancelledFailure) {
    return { status: 'cancelled', code: 'CANCELLED', message: 'The job was cancelled.' };
  }
  if (cause instanceof TerminatedFailure) {
    const message = 'The job was terminated, by hand or because the workflow that had started it ended.';
    return { status: 'failed', code: 'TERMINATED', message };
  }
  if (cause instanceof TimeoutFailure) {
    return { status: 'failed', code: 'TIMED_OUT', message: "The job's workflow timed out." };
  }
  const message = cause instanceof Error ? cause.message : String(cause);
  return { status: 'failed', code: 'UNEXPECTED', message: cutText(message, maxMessageLength) };
}

/** What a result and the details of a failure have in common. */
function told(end: Partial<ConversionJobResult & ConversionFailureDetails>) {
  const { taskId, charge, source, output, vcredits, requests, possiblyChargedExtra } = end;
  const warnings = hasAny(end.warnings) ? end.warnings : undefined;
  const possiblyChargedTwice = end.possiblyChargedTwice === true || undefined;
  return { taskId, charge, warnings, source, output, vcredits, requests, possiblyChargedTwice, possiblyChargedExtra };
}

/** For a row without a job: the state left by earlier jobs. */
export function rowOfEarlier(earlier: EarlierRuns): Omit<JobOutcome, 'status'> {
  const { charge, taskId, source, possiblyChargedExtra } = earlier;
  return { ...defined({ charge, taskId, source }), ...markOf(possiblyChargedExtra) };
}

/** How rows and results report extra charges. */
export function markOf(extra = 0): { possiblyChargedTwice?: true; possiblyChargedExtra?: number } {
  return extra > 0 ? { possiblyChargedTwice: true, possiblyChargedExtra: extra } : {};
}

export function cutText(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

const ended: readonly string[] = ['COMPLETED', 'FAILED', 'CANCELLED', 'TERMINATED', 'TIMED_OUT', 'CONTINUED_AS_NEW'];

/** Whether a workflow is open. Includes workflows paused by an operator and statuses unknown to this version. */
export function isOpen({ status }: { status: { name: string } }): boolean {
  return !ended.includes(status.name);
}
