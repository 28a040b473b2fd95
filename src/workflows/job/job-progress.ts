import {
  ApplicationFailure,
  log,
  metricMeter,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { failureCodes } from '../../job/activities';
import { ChargeLedger, type EarlierRuns } from '../../job/charge';
import { defined } from '../../job/defined';
import {
  type ConversionFailureDetails,
  type ConversionJobInput,
  type ConversionJobState,
  type JobOutcome,
  type JobPhase,
  jobSummary,
  type OutputFile,
  type ParkReason,
  type SourceContent,
} from '../../job/types';
import { jobFailedMessage, type LogFields } from '../../messages/log';
import {
  noCode,
  otherValue,
  workerMetrics,
  type JobEnd,
  type MetricDefinition,
  type UnknownOutcomeDecision,
} from '../../job/metrics';
import { listedErrorCode, isListed, searchAttributes, storable, type ListedStatus } from '../../job/search-attributes';
import { workflowPath } from '../../job/temporal-ui';
import { boundWarnings } from '../../job/warnings';
import { formatDuration, shellWord, shownTime, wellFormed } from '../../messages/wording';
import type { JobFailure } from './job-failure';

/** Tracks the state of a job for the query, the UI, the log, and the times and requests in the result. */
export class JobProgress {
  readonly summary: string;
  phase: JobPhase;
  /** The phase; for a parked job, the phase in which it parked. */
  step: JobPhase;
  private parkedFor: ParkReason | undefined;
  since = Date.now();
  taskId: string | undefined;
  /** Why the job had to retry; shown until the job ends. */
  lastFailure: JobFailure | undefined;
  requests = 0;
  /** Pauses ordered by the service that moved a deadline. */
  orderedWaitsMs = 0;
  vcredits: number | undefined;
  charge: ChargeLedger;
  /** Task of an earlier run whose result is to be fetched. */
  earlierTaskId: string | undefined;
  /** Content of the uploaded source, if known. */
  source: SourceContent | undefined;
  warnings: Record<string, string> = {};
  /** The run whose doings `charge` covers; a reset makes another one. */
  knownRunId = workflowInfo().originalExecutionRunId;
  readonly phaseMs: Partial<Record<JobPhase, number>> = {};
  private readonly isListed = isListed(workflowInfo());
  /** Fields of every log line. */
  private readonly logged: LogFields;

  constructor(input: ConversionJobInput) {
    this.summary = jobSummary(input);
    this.charge = new ChargeLedger();
    this.takeUp(input.earlier);
    this.logged = defined({ app: input.app, batchId: workflowInfo().parent?.workflowId });
    this.phase = 'uri' in input.source ? 'uploading' : 'submitting';
    this.step = this.phase;
    this.describe('');
  }

  takeUp(earlier: EarlierRuns | undefined): void {
    this.charge = new ChargeLedger(earlier);
    this.earlierTaskId = this.charge.taskId;
    this.source = earlier?.source;
  }

  /** `waitsFor`: what the job waits for, shown in the UI; when empty, the default text of the phase. */
  enter(phase: JobPhase, waitsFor = '', errorCode?: string): void {
    if (!['parked', 'failed', 'cancelled'].includes(phase)) this.step = phase;
    if (phase !== this.phase) {
      this.list(phase, errorCode);
      const lastedMs = Date.now() - this.since;
      recordPhase(this.phase, lastedMs);
      if (this.phase === 'parked' && !isOver(phase)) {
        log.info('Job continues', { ...this.logged, parkedSeconds: Math.round(lastedMs / 1_000) });
      }
      this.phaseMs[this.phase] = (this.phaseMs[this.phase] ?? 0) + lastedMs;
      this.phase = phase;
      this.since += lastedMs;
    }
    this.describe(waitsFor);
  }

  /** Counts and logs that the job parked. `until`: milliseconds since the epoch. */
  parked({ reason, code, until }: { reason: ParkReason; code: string; until: number }): void {
    this.parkedFor = reason;
    counter(workerMetrics.jobsParked).add(1, { reason });
    log.info('Job parked', { ...this.logged, reason, code, until: new Date(until).toISOString() });
  }

  /** Counts and logs the decision about a submit with an unknown outcome. */
  unknownOutcome(decision: UnknownOutcomeDecision, { message: reason }: Pick<JobFailure, 'message'>): void {
    counter(workerMetrics.unknownOutcomes).add(1, { decision });
    const level = decision === 'resolvedByCallback' ? 'info' : 'warn';
    log[level]('Outcome of a submit was unknown', { ...this.logged, decision, reason });
  }

  state(): ConversionJobState {
    return {
      phase: this.phase,
      ...(this.phase === 'parked' && this.parkedFor && { parkedFor: this.parkedFor }),
      since: this.since,
      summary: this.summary,
      ...(this.taskId !== undefined && { taskId: this.taskId }),
      possiblyChargedTwice: this.charge.possiblyChargedTwice,
    };
  }

  warn(warnings: Readonly<Record<string, string>> = {}): void {
    this.warnings = boundWarnings({ ...this.warnings, ...warnings });
  }

  /** For a result that failed its check and is kept beside its destination. */
  suspect(output: OutputFile, problem: string): ApplicationFailure {
    const message = `The result ${problem.replace(/\.$/, '')}. It is paid for, and stands at ${output.uri}; the destination is as it was. Nothing converts the file again before it changes, unless you say --again.`;
    const failure = { code: failureCodes.resultSuspect, message, origin: 'worker', requests: 0 } as const;
    return this.failed({ ...failure, reaction: 'fail' }, '', output);
  }

  /** The job's own failure: its type is the error code; its message names the file and the next step. */
  failed(failure: JobFailure, advice = '', output?: OutputFile): ApplicationFailure {
    const { phase } = this;
    const { code, message, httpStatus, endpoint, error } = failure;
    this.ownUp();
    this.enter('failed', message, code);
    countEnd('failed', failure);
    const { vcredits, requests, source, warnings } = this;
    const { possiblyChargedTwice, charge } = this.charge;
    const taskId = this.charge.taskId ?? this.taskId;
    const asked = { httpStatus, endpoint };
    log.warn(jobFailedMessage, {
      ...this.logged,
      code,
      reason: message,
      ...defined({ phase, taskId, possiblyChargedTwice, ...asked }),
    });
    const details: ConversionFailureDetails = {
      ...defined({ code, phase, ...asked, taskId, vcredits, source, output }),
      warnings,
      requests,
      charge,
      ...this.charged(),
    };
    const notes = [
      code.endsWith('_DEADLINE') &&
        this.orderedWaitsMs > 0 &&
        `Pauses that the service ordered moved its deadlines by ${formatDuration(this.orderedWaitsMs)}.`,
      // A paid conversion is never given up silently.
      this.charge.taskId !== undefined &&
        !output &&
        `The service accepted it as conversion task ${this.charge.taskId}. To fetch the result without converting again: fileconv job retry ${shellWord(workflowInfo().workflowId)}`,
      possiblyChargedTwice && 'An earlier submit may have been charged too.',
    ];
    return endOfJob(sentences([`${this.summary}: ${message}`, advice, ...notes]), details, error);
  }

  /** For a failure of an earlier run that stands: nothing was sent. */
  kept(outcome: JobOutcome): ApplicationFailure {
    const { code = 'FAILED', message = 'the last run of the job failed', phase = this.phase, ...left } = outcome;
    this.enter('failed', message, code);
    countEnd('failed', { code, unlisted: true });
    const { taskId, source, output, charge = 'maybe', possiblyChargedTwice = false, possiblyChargedExtra } = left;
    const details: ConversionFailureDetails = {
      ...defined({ code, phase, taskId, source, output, possiblyChargedExtra }),
      warnings: {},
      requests: 0,
      charge,
      possiblyChargedTwice,
      kept: true,
    };
    const text = message.startsWith(this.summary) ? message : `${this.summary}: ${message}`;
    return endOfJob(text, details);
  }

  charged(): { possiblyChargedTwice: boolean; possiblyChargedExtra?: number } {
    const { possiblyChargedTwice, possiblyChargedExtra: extra } = this.charge;
    return { possiblyChargedTwice, ...(extra > 0 && { possiblyChargedExtra: extra }) };
  }

  /** The run before a reset may have done more than this one knows. */
  get isReset(): boolean {
    return workflowInfo().runId !== this.knownRunId;
  }

  /** Call before a job ends without a result: after a reset, the previous run may have submitted and been charged. */
  ownUp(): void {
    if (this.isReset) this.charge.mayHaveSubmitted();
  }

  /**
   * Upserts as rarely as possible, since each costs an event and a write: once when the job ends, with everything users
   * search for, and when it parks and resumes, since `app ready` signals the jobs listed as parked.
   */
  private list(next: JobPhase, errorCode: string | undefined): void {
    const status = listedStatus(next);
    if (!this.isListed || status === listedStatus(this.phase)) return;
    const { taskId, vcredits } = this;
    const code = isOver(next) ? listedErrorCode(errorCode, this.charge.possiblyChargedTwice) : undefined;
    const attributes = [
      { key: searchAttributes.status, value: status },
      ...(taskId === undefined ? [] : [{ key: searchAttributes.taskId, value: taskId }]),
      ...(vcredits === undefined ? [] : [{ key: searchAttributes.vcredits, value: Math.ceil(vcredits) }]),
      ...(code === undefined ? [] : [{ key: searchAttributes.errorCode, value: code }]),
    ];
    upsertSearchAttributes(storable(attributes));
  }

  private describe(waitsFor: string): void {
    const { phase, lastFailure, taskId } = this;
    const { workflowId, parent } = workflowInfo();
    const lines = [
      `**${phase}**${phase === 'parked' ? ` (${this.step}, for ${this.parkedFor})` : ''} since ${shownTime(this.since)} UTC`,
      waitsFor || usualWaits[phase],
      ...(isOver(phase)
        ? []
        : [
            lastFailure && `Last failure: \`${lastFailure.code}\`: ${lastFailure.message}`,
            'Next attempt: tab Pending Activities.',
          ]),
      taskId !== undefined && `Conversion task \`${taskId}\``,
      this.charge.possiblyChargedTwice &&
        '**Possibly charged twice**: a submit with an unknown outcome was sent again.',
      parent && `Started by [${parent.workflowId}](${workflowPath(parent.namespace, parent.workflowId)})`,
      `In a terminal: \`fileconv job show ${shellWord(workflowId)}\``,
    ];
    setCurrentDetails(lines.filter((line) => typeof line === 'string').join('\n\n'));
  }
}

const usualWaits: Partial<Record<JobPhase, string>> = {
  uploading: 'Waits for the upload.',
  submitting: 'Waits for the service to accept the conversion.',
  converting: 'Waits for the service to finish the conversion.',
  downloading: 'Waits for the download.',
};

function isOver(phase: JobPhase): phase is 'completed' | 'failed' | 'cancelled' {
  return phase === 'completed' || phase === 'failed' || phase === 'cancelled';
}

function listedStatus(phase: JobPhase): ListedStatus {
  return phase === 'parked' || isOver(phase) ? phase : 'running';
}

/** Half a character in a message or a type would end the worker. */
function endOfJob(message: string, details: ConversionFailureDetails, cause?: Error): ApplicationFailure {
  return ApplicationFailure.create({
    message: wellFormed(message),
    type: wellFormed(details.code),
    nonRetryable: true,
    details: [details],
    ...(cause && { cause }),
  });
}

/* Job metrics of a worker, silent on replay. The app is not a label: a job's input can name any app. */

export function countEnd(status: JobEnd, failure?: Pick<JobFailure, 'code' | 'unlisted'>): void {
  const code = failure === undefined ? noCode : failure.unlisted === true ? otherValue : failure.code;
  counter(workerMetrics.jobsEnded).add(1, { status, code });
}

function recordPhase(phase: JobPhase, durationMs: number): void {
  const { name, description } = workerMetrics.jobPhase;
  // The clock may have been set back, which must not fail the job.
  const seconds = Math.max(durationMs, 0) / 1_000;
  metricMeter.createHistogram(name, 'float', undefined, description).record(seconds, { phase });
}

function counter({ name, description }: MetricDefinition) {
  return metricMeter.createCounter(name, undefined, description);
}

/** Ends every part but the last with a full stop. */
function sentences(parts: readonly (string | false | undefined)[]): string {
  const texts = parts.filter((part) => typeof part === 'string' && part !== '') as string[];
  return texts.map((part, index) => (index < texts.length - 1 ? part.replace(/[^.!?]$/, '$&.') : part)).join(' ');
}
