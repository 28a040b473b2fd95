/** The description must be clear to a reader who only sees the name. */
export interface MetricDefinition {
  readonly name: string;
  readonly description: string;
}

/**
 * Metrics of a worker, exported by the Temporal runtime next to the SDK's own; see `docs/operations/metrics.md`. Labels
 * are few and bounded, and hold no file name, id or secret.
 */
export const workerMetrics = {
  jobsEnded: {
    name: 'fileconv_jobs_ended_total',
    description: 'Jobs that ended, by status and error code.',
  },
  jobPhase: {
    name: 'fileconv_job_phase_seconds',
    description: 'How long jobs stayed in a phase, recorded when they leave it.',
  },
  jobsParked: {
    name: 'fileconv_jobs_parked_total',
    description: 'How often a job began to wait for vCredits.',
  },
  unknownOutcomes: {
    name: 'fileconv_unknown_outcomes_total',
    description: 'Submits of which nobody knew whether they ran, by what was decided.',
  },
  jobs: {
    name: 'fileconv_jobs',
    description: 'Jobs that are not over, by app and status, as the Temporal server counts them.',
  },
  requests: {
    name: 'fileconv_requests_total',
    description: 'Requests to conversion services, by endpoint and HTTP status.',
  },
  requestSeconds: {
    name: 'fileconv_request_seconds',
    description: 'From the first byte of a request to the head of its answer.',
  },
  rateLimitWait: {
    name: 'fileconv_rate_limit_wait_seconds',
    description: 'How long requests waited for their turn at the rate limit.',
  },
  transferredBytes: {
    name: 'fileconv_transferred_bytes_total',
    description: 'Bytes of files sent to and received from conversion services.',
  },
  retries: {
    name: 'fileconv_retries_total',
    description: 'Attempts of a step that failed and are made again, by error code.',
  },
} as const satisfies Record<string, MetricDefinition>;

/** How a submit with an unknown outcome was resolved. */
export const unknownOutcomeDecisions = ['resubmitted', 'failed', 'resolvedByCallback', 'cancelled'] as const;
export type UnknownOutcomeDecision = (typeof unknownOutcomeDecisions)[number];

/** Values of a job's `status` label. */
export const jobEnds = ['succeeded', 'skipped', 'failed', 'cancelled'] as const;
export type JobEnd = (typeof jobEnds)[number];

/** Value of label `code` without a code. */
export const noCode = 'none';

/** Label value that replaces anything outside a known set. */
export const otherValue = 'other';
