import { log, workflowInfo, ApplicationFailure, setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import { ChargeLedger, type Charge } from '../../shared/charge';
import {
  jobSummary,
  type JobPhase,
  type ConversionFailureDetails,
  type ConversionJobInput,
  type ConversionJobState,
  type OutputResult,
  type SourceContent,
} from '../../shared/job';
import { chargeOf } from '../../shared/job-outcome';
import { jobFailedMessage, type LogFields } from '../../shared/log';
import type { UnknownOutcomeDecision } from '../../shared/metrics';
import {
  listedErrorCode,
  searchAttributes,
  settableAttributes,
  settableOf,
  type ListedStatus,
} from '../../shared/search-attributes';
import { workflowPath } from '../../shared/temporal-ui';
import { boundWarnings } from '../../shared/warnings';
import { shownTime } from '../../shared/wording';
import type { JobFailure } from './job-failure';
import { countEnd, recordPhase } from './job-metrics';

/** Tracks the state of a job for the query, the UI, and the times and requests in the result. */
export class JobProgress {
  readonly summary: string;
  readonly log: JobLog;
  phase: JobPhase;
  since = Date.now();
  taskId: string | undefined;
  /** Why the job had to retry; shown until the job ends. */
  lastFailure: JobFailure | undefined;
  requests = 0;
  vcredits: number | undefined;
  readonly charge: ChargeLedger;
  /** Content of the uploaded source, when the input asked for it. */
  source: SourceContent | undefined;
  warnings: Record<string, string> = {};
  /** Of a job with several outputs, which are jobs of their own. */
  outputs: readonly OutputResult[] | undefined;
  private readonly settable = settableAttributes(workflowInfo());
  readonly phaseMs: Partial<Record<JobPhase, number>> = {};

  constructor(input: ConversionJobInput) {
    this.summary = jobSummary(input);
    this.charge = new ChargeLedger(input.earlier);
    this.source = input.earlier?.source;
    this.log = new JobLog(input.app);
    this.phase = 'uri' in input.source ? 'uploading' : 'submitting';
    this.describe('');
  }

  /** `waitsFor`: what the job waits for, shown in the UI. */
  enter(phase: JobPhase, waitsFor = '', errorCode?: string): void {
    if (phase !== this.phase) {
      this.list(phase, errorCode);
      const now = Date.now();
      recordPhase(this.phase, now - this.since);
      if (this.phase === 'awaitingCredits' && !isOver(phase)) this.log.resumed(now - this.since);
      this.phaseMs[this.phase] = (this.phaseMs[this.phase] ?? 0) + (now - this.since);
      this.phase = phase;
      this.since = now;
    }
    this.describe(waitsFor);
  }

  state(): ConversionJobState {
    return {
      phase: this.phase,
      since: this.since,
      summary: this.summary,
      ...(this.taskId !== undefined && { taskId: this.taskId }),
      possiblyChargedTwice: this.charged().possiblyChargedTwice,
      ...(this.outputs && { outputs: [...this.outputs] }),
    };
  }

  warn(warnings: Readonly<Record<string, string>> = {}): void {
    this.warnings = boundWarnings({ ...this.warnings, ...warnings });
  }

  /** The job's own failure: its type is the error code; its message names the file and says what to do. */
  failed(failure: JobFailure, advice = ''): ApplicationFailure {
    const phase = this.phase;
    this.ownUp();
    this.enter('failed', failure.message, failure.code);
    countEnd('failed', failure);
    const { vcredits, requests, source, warnings } = this;
    const { possiblyChargedTwice } = this.charge;
    const taskId = this.charge.taskId ?? this.taskId;
    this.log.failed(failure, { phase, ...(taskId !== undefined && { taskId }), possiblyChargedTwice });
    const details: ConversionFailureDetails = {
      code: failure.code,
      phase,
      ...(failure.httpStatus !== undefined && { httpStatus: failure.httpStatus }),
      ...(failure.endpoint !== undefined && { endpoint: failure.endpoint }),
      ...(failure.refusesAccount && { refusesAccount: true }),
      ...(failure.reaction === 'uploadAgain' && { needsUpload: true }),
      ...(taskId !== undefined && { taskId }),
      ...(vcredits !== undefined && { vcredits }),
      ...(source && { source }),
      warnings,
      requests,
      charge: this.charge.charge,
      ...this.charged(),
    };
    return ApplicationFailure.create({
      message: [`${this.summary}: ${failure.message}`, advice, this.chargeNote()].filter(Boolean).join(' '),
      type: failure.code,
      nonRetryable: true,
      details: [details],
      ...(failure.error !== undefined && { cause: failure.error }),
    });
  }

  /** What may be charged for the job: of several outputs, for all of them. */
  charged(): { possiblyChargedTwice: boolean; charge?: Charge; outputs?: OutputResult[] } {
    const { outputs, charge } = this;
    if (!outputs) return { possiblyChargedTwice: charge.possiblyChargedTwice };
    const isMarked = outputs.some((output) => output.possiblyChargedTwice === true);
    return { possiblyChargedTwice: isMarked, charge: chargeOf(outputs), outputs: [...outputs] };
  }

  /** Called before a job ends without a result: after a reset, the previous run may have submitted and been charged. */
  ownUp(): void {
    if (wasReset()) this.charge.foundOpen();
  }

  /**
   * Upserts as rarely as possible, since each costs an event and a write: once when the job ends, with everything users
   * search for, and when it parks and resumes, since `credits restored` signals the jobs listed as parked.
   */
  private list(next: JobPhase, errorCode: string | undefined): void {
    const status = listedStatus(next);
    if (this.settable.size === 0 || status === listedStatus(this.phase)) return;
    const { taskId, vcredits } = this;
    const isOver = status !== 'running' && status !== 'awaitingCredits';
    const code = isOver ? listedErrorCode(errorCode, this.charge.possiblyChargedTwice) : undefined;
    const attributes = [
      { key: searchAttributes.status, value: status },
      ...(taskId === undefined ? [] : [{ key: searchAttributes.taskId, value: taskId }]),
      ...(vcredits === undefined ? [] : [{ key: searchAttributes.vcredits, value: Math.ceil(vcredits) }]),
      ...(code === undefined ? [] : [{ key: searchAttributes.errorCode, value: code }]),
    ];
    upsertSearchAttributes(settableOf(attributes, this.settable));
  }

  private chargeNote(): string {
    return this.charge.possiblyChargedTwice ? 'An earlier submit may have been charged too.' : '';
  }

  private describe(waitsFor: string): void {
    const { phase, since, lastFailure, taskId } = this;
    const { possiblyChargedTwice } = this.charge;
    const { workflowId, namespace, parent } = workflowInfo();
    setCurrentDetails(
      describeJob({ workflowId, namespace, parent, phase, since, waitsFor, lastFailure, taskId, possiblyChargedTwice }),
    );
  }
}

/** Whether a reset started this run: its history lacks what the previous run did after the reset point. */
export function wasReset(): boolean {
  const { runId, originalExecutionRunId } = workflowInfo();
  return runId !== originalExecutionRunId;
}

function isOver(phase: JobPhase): boolean {
  return phase === 'completed' || phase === 'failed' || phase === 'cancelled';
}

function listedStatus(phase: JobPhase): ListedStatus {
  switch (phase) {
    case 'awaitingCredits':
    case 'completed':
    case 'failed':
    case 'cancelled':
      return phase;
    default:
      return 'running';
  }
}

/** Input of `describeJob`. Times are milliseconds since the epoch. */
interface JobDetails {
  workflowId: string;
  namespace: string;
  /** The workflow that started the job: a batch, or one of the user's own. */
  parent: { workflowId: string; namespace: string } | undefined;
  phase: JobPhase;
  since: number;
  /** When empty, the default text of the phase is shown. */
  waitsFor: string;
  lastFailure: { code: string; message: string } | undefined;
  taskId: string | undefined;
  possiblyChargedTwice: boolean;
}

const usualWaits: Partial<Record<JobPhase, string>> = {
  uploading: 'Waits for the upload.',
  submitting: 'Waits for the service to accept the conversion.',
  converting: 'Waits for the service to finish the conversion.',
  downloading: 'Waits for the download.',
};

function describeJob(job: JobDetails): string {
  const { workflowId, phase, since, lastFailure, taskId, parent } = job;
  const isOver = phase === 'completed' || phase === 'failed' || phase === 'cancelled';
  const lines = [
    `**${phase}** since ${shownTime(since)} UTC`,
    job.waitsFor === '' ? usualWaits[phase] : job.waitsFor,
    lastFailure && !isOver ? `Last failure: \`${lastFailure.code}\`: ${lastFailure.message}` : undefined,
    isOver ? undefined : 'Next attempt: tab Pending Activities.',
    taskId === undefined ? undefined : `Conversion task \`${taskId}\``,
    job.possiblyChargedTwice
      ? '**Possibly charged twice**: a submit with an unknown outcome was sent again.'
      : undefined,
    parent && `Started by [${parent.workflowId}](${workflowPath(parent.namespace, parent.workflowId)})`,
    `In a terminal: \`fileconv job show ${workflowId}\``,
  ];
  return lines.filter((line) => line !== undefined).join('\n\n');
}

/** What a job logs on its worker: what an on-call engineer needs, no routine progress. Silent on replay. */
class JobLog {
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
