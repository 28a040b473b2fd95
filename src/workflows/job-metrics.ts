import { metricMeter } from '@temporalio/workflow';
import type { JobPhase } from '../shared/job';
import type { JobEnd, MetricDefinition, UnknownOutcomeDecision } from '../shared/metrics';
import { noCode, otherValue, workerMetrics } from '../shared/metrics';
import type { JobFailure } from './job-failure';

/*
 * What jobs tell a worker's metrics. Not told again when a history is replayed. The app is no label here: it is what somebody wrote into the
 * job's input, so there may be any number of them.
 */

export function countEnd(status: JobEnd, failure?: Pick<JobFailure, 'code' | 'unlisted'>): void {
  const code = failure === undefined ? noCode : failure.unlisted === true ? otherValue : failure.code;
  counter(workerMetrics.jobsEnded).add(1, { status, code });
}

export function recordPhase(phase: JobPhase, durationMs: number): void {
  const { name, description } = workerMetrics.jobPhase;
  // A clock that was set back is no reason for a job to fail.
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
