import { log, workflowInfo } from '@temporalio/workflow';
import type { JobPhase } from '../shared/job';
import type { LogFields } from '../shared/log';
import { jobFailedMessage } from '../shared/log';
import type { UnknownOutcomeDecision } from '../shared/metrics';
import type { JobFailure } from './job-failure';

/** What a job logs on its worker: what an on-call engineer needs, no routine progress. Silent on replay. */
export class JobLog {
  private readonly always: LogFields;

  constructor(app: string) {
    const batchId = workflowInfo().parent?.workflowId;
    this.always = { app, ...(batchId !== undefined && { batchId }) };
  }

  /** @param deadline milliseconds since the epoch. */
  parked(deadline: number): void {
    log.info('Job parked: the app has too few vCredits', { ...this.always, until: new Date(deadline).toISOString() });
  }

  resumed(parkedMs: number): void {
    log.info('Job goes on', { ...this.always, parkedSeconds: Math.round(parkedMs / 1_000) });
  }

  unknownOutcome(decision: UnknownOutcomeDecision, { message }: Pick<JobFailure, 'message'>): void {
    const known = decision === 'resolvedByCallback';
    log[known ? 'info' : 'warn']('Outcome of a submit was unknown', { ...this.always, decision, reason: message });
  }

  failed({ code, message, httpStatus, endpoint }: JobFailure, details: FailedJob): void {
    log.warn(jobFailedMessage, {
      ...this.always,
      code,
      reason: message,
      ...details,
      ...(httpStatus !== undefined && { httpStatus }),
      ...(endpoint !== undefined && { endpoint }),
    });
  }
}

interface FailedJob {
  phase: JobPhase;
  taskId?: string;
  possiblyChargedTwice: boolean;
}
