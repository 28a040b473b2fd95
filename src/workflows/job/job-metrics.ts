import { metricMeter } from '@temporalio/workflow';
import type { JobPhase } from '../../shared/job';
import {
  noCode,
  otherValue,
  workerMetrics,
  type JobEnd,
  type MetricDefinition,
  type UnknownOutcomeDecision,
} from '../../shared/metrics';
import type { JobFailure } from './job-failure';

/* Job metrics of a worker, silent on replay. The app is not a label: a job's input can name any app. */

export function countEnd(status: JobEnd, failure?: Pick<JobFailure, 'code' | 'unlisted'>): void {
  const code = failure === undefined ? noCode : failure.unlisted === true ? otherValue : failure.code;
  counter(workerMetrics.jobsEnded).add(1, { status, code });
}

export function recordPhase(phase: JobPhase, durationMs: number): void {
  const { name, description } = workerMetrics.jobPhase;
  // The clock may have been set back, which must not fail the job.
  const seconds = Math.max(durationMs, 0) / 1_000;
  metricMeter.createHistogram(name, 'float', undefined, description).record(seconds, { phase });
}

export function countParked(): void {
  counter(workerMetrics.jobsParked).add(1);
}

export function countUnknownOutcome(decision: UnknownOutcomeDecision): void {
  counter(workerMetrics.unknownOutcomes).add(1, { decision });
}

function counter({ name, description }: MetricDefinition) {
  return metricMeter.createCounter(name, undefined, description);
}
