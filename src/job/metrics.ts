/** The description must be clear to a reader who only sees the name. */
export interface MetricDefinition {
  readonly name: string;
  readonly description: string;
}

/**
 * Metrics of a worker, exported by the Temporal runtime next to the SDK's own; see `docs/operations/metrics.md`. Labels are few and
 * bounded, and contain no file name, id or secret.
 */
export const workerMetrics = {
  jobsEnded: metric('fileconv_jobs_ended_total', 'Jobs that ended, by status and error code.'),
  jobPhase: metric('fileconv_job_phase_seconds', 'How long jobs stayed in a phase, recorded when they leave it.'),
  jobsParked: metric('fileconv_jobs_parked_total', 'How often a job began to wait for a person, by reason.'),
  unknownOutcomes: metric(
    'fileconv_unknown_outcomes_total',
    'Submits of which nobody knew whether they ran, by what was decided.',
  ),
  jobs: metric('fileconv_jobs', 'Jobs that are not over, by app and status, as the Temporal server counts them.'),
  requests: metric('fileconv_requests_total', 'Requests to conversion services, by endpoint and HTTP status.'),
  requestSeconds: metric('fileconv_request_seconds', 'From the first byte of a request to the head of its answer.'),
  rateLimitWait: metric(
    'fileconv_rate_limit_wait_seconds',
    'How long requests waited for their turn at the rate limit.',
  ),
  transferredBytes: metric(
    'fileconv_transferred_bytes_total',
    'Bytes of files sent to and received from conversion services.',
  ),
  retries: metric('fileconv_retries_total', 'Attempts of a step that failed and are made again, by error code.'),
};

function metric(name: string, description: string): MetricDefinition {
  return { name, description };
}

/** How a submit with an unknown outcome was resolved. */
export const unknownOutcomeDecisions = ['resubmitted', 'failed', 'resolvedByCallback', 'cancelled'] as const;
export type UnknownOutcomeDecision = (typeof unknownOutcomeDecisions)[number];

/** Values of a job's `status` label. */
export const jobEnds = ['succeeded', 'skipped', 'failed', 'cancelled'] as const;
export type JobEnd = (typeof jobEnds)[number];

/** Value of label `code` when there is no code. */
export const noCode = 'none';

/** Label value for anything outside a known set. */
export const otherValue = 'other';
