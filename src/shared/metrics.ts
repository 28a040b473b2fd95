/** A metric as it is told: its name, and what a person who sees the name only must know. */
export interface MetricDefinition {
  readonly name: string;
  readonly description: string;
}

/**
 * Metrics of a worker. They come out of the Temporal runtime beside the SDK's own. Labels are few and bounded, and hold no name of a file, no id
 * and no secret. What each is for: `docs/operations/metrics.md`.
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

/** What became of a submit of which nobody knew whether it ran. */
export const unknownOutcomeDecisions = ['resubmitted', 'failed', 'resolvedByCallback', 'cancelled'] as const;
export type UnknownOutcomeDecision = (typeof unknownOutcomeDecisions)[number];

/** How a job ends, as its metric says it. */
export const jobEnds = ['succeeded', 'skipped', 'failed', 'cancelled'] as const;
export type JobEnd = (typeof jobEnds)[number];

/** Label `code` of what has none. */
export const noCode = 'none';

/** Label in place of a value that is not one of a known few. */
export const otherValue = 'other';
