import { ApplicationFailure, CancelledFailure, TerminatedFailure, TimeoutFailure } from '@temporalio/common';
import type { JobOutcome } from './batch-activities';
import type { EarlierRuns } from './charge';
import type { ConversionFailureDetails, ConversionJobResult } from './job';

/** Longer messages are cut, because results are kept by the thousand. */
const longestMessage = 1_000;

/** The part of a job's result that a batch keeps. */
export function outcomeOfResult(result: ConversionJobResult): JobOutcome {
  const { status, source, output, vcredits, requests, possiblyChargedTwice, taskId, charge, warnings } = result;
  return {
    status,
    ...(taskId !== undefined && { taskId }),
    charge,
    ...withWarnings(warnings),
    ...(source && { source }),
    ...(output && { output }),
    ...(vcredits !== undefined && { vcredits }),
    requests,
    ...(possiblyChargedTwice && { possiblyChargedTwice }),
  };
}

/** The part of a failed job's end that a batch keeps. Without `charge`, only the history tells what may be charged. */
export function outcomeOfFailure(cause: unknown): JobOutcome {
  if (cause instanceof ApplicationFailure) {
    const details = (cause.details?.[0] ?? {}) as Partial<ConversionFailureDetails>;
    const { phase, taskId, charge, source, vcredits, requests } = details;
    return {
      status: 'failed',
      code: cause.type ?? 'FAILED',
      message: cut(cause.message),
      ...(phase && { phase }),
      ...(taskId !== undefined && { taskId }),
      ...(charge && { charge }),
      ...withWarnings(details.warnings),
      ...(source && { source }),
      ...(vcredits !== undefined && { vcredits }),
      ...(requests !== undefined && { requests }),
      ...(details.possiblyChargedTwice === true && { possiblyChargedTwice: true }),
    };
  }
  if (cause instanceof CancelledFailure) {
    return { status: 'cancelled', code: 'CANCELLED', message: 'The job was cancelled.' };
  }
  if (cause instanceof TerminatedFailure) {
    return { status: 'failed', code: 'TERMINATED', message: 'The job was terminated by hand.' };
  }
  if (cause instanceof TimeoutFailure) {
    return { status: 'failed', code: 'TIMED_OUT', message: "The job's workflow timed out." };
  }
  const message = cause instanceof Error ? cause.message : String(cause);
  return { status: 'failed', code: 'UNEXPECTED', message: cut(message) };
}

/** What the row of a job that was never started reports about earlier jobs. */
export function rowOfEarlier({
  charge,
  taskId,
  source,
  possiblyChargedTwice,
}: EarlierRuns): Omit<JobOutcome, 'status'> {
  return {
    charge,
    ...(taskId !== undefined && { taskId }),
    ...(source && { source }),
    ...(possiblyChargedTwice && { possiblyChargedTwice }),
  };
}

function withWarnings(warnings: Record<string, string> = {}): Pick<JobOutcome, 'warnings'> {
  return Object.keys(warnings).length > 0 ? { warnings } : {};
}

function cut(message: string): string {
  return message.length > longestMessage ? `${message.slice(0, longestMessage - 1)}…` : message;
}
