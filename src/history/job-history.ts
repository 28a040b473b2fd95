import type { Client } from '@temporalio/client';
import { ApplicationFailure, TimeoutFailure, type LoadedDataConverter } from '@temporalio/common';
import {
  readFence,
  type ActivityFailureDetails,
  type CheckTaskInput,
  type CheckTaskResult,
  type ConvertFileResult,
  type Parking,
  type RecallJobResult,
} from '../shared/activities';
import { ChargeLedger, type EarlierRuns } from '../shared/charge';
import { defined } from '../shared/defined';
import type { ConversionJobInput, ConversionJobResult, SourceContent } from '../shared/job';
import { activityNames, appReadySignal, conversionCallbackSignal } from '../shared/names';
import { decodeFailure, decodePayloads, type History } from './payloads';

export const stepOfActivity: Readonly<Record<string, string>> = {
  [activityNames.recallJob]: 'recalling',
  [activityNames.uploadFile]: 'uploading',
  [activityNames.convertFile]: 'submitting',
  [activityNames.checkTask]: 'converting',
  [activityNames.downloadFile]: 'downloading',
  [activityNames.discardDownload]: 'cleaning up',
};

/** One step of a job, or an event. Times are milliseconds since the epoch. */
export interface TimelineEntry {
  at: number;
  /** `uploading`, `submitting`, `parked`, `converting`, `downloading`, `cleaning up`, or the event. */
  what: string;
  /** Absent for an open step and for an event. */
  endedAt?: number;
  outcome?: 'open' | 'done' | 'failed' | 'cancelled';
  /** Error code and message of a failure. */
  code?: string;
  message?: string;
  /** Attempts counted by the server, if known. */
  attempts?: number;
  requests?: number;
}

/** What a job's history tells; needs no worker. */
export interface JobHistory {
  input: ConversionJobInput;
  timeline: TimelineEntry[];
  /** The last step other than a cleanup. */
  lastStep?: {
    activity: string;
    entry: TimelineEntry;
    failure?: Pick<StepFailure, 'reaction'>;
    hasCallback: boolean;
  };
  /** The run that was reset to make this one, as long as this one has submitted nothing since: that one tells what was paid. */
  resetFrom?: string;
  /** What the run before it has decided, once it is known. */
  recalled?: RecallJobResult['kind'];
  /** The conversion task that the job knows. */
  task?: { taskId: string; vcredits?: number };
  /**
   * What the service may have charged, in this run and in the earlier ones named in its input; with what was uploaded,
   * when the input asked for it.
   */
  charge: EarlierRuns;
  requests: number;
  result?: ConversionJobResult;
  failure?: { code: string; message: string; details?: unknown };
}

interface StepFailure {
  code: string;
  message: string;
  reaction: ActivityFailureDetails['reaction'];
  /** The task failed at the service, which is free. */
  isOfTask: boolean;
  requests: number;
  hasCallback: boolean;
}

type HistoryEvent = NonNullable<History['events']>[number];

interface Step {
  activity: string;
  entry: TimelineEntry;
  input: unknown;
}

/** Reads the history of one run of a job. */
export async function readJobHistory(events: History['events'], converter: LoadedDataConverter): Promise<JobHistory> {
  const reader = new HistoryReader(converter);
  for (const event of events ?? []) await reader.read(event);
  return reader.history();
}

/** What a run of a job did, of its whole history. */
export async function readRun(
  client: Client,
  { workflowId, runId }: { workflowId: string; runId: string },
): Promise<JobHistory> {
  const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  return readJobHistory(events, client.options.loadedDataConverter);
}

class HistoryReader {
  private readonly timeline: TimelineEntry[] = [];
  private readonly open = new Map<number, Step>();
  private readonly started = new Map<number, number>();
  private input: ConversionJobInput | undefined;
  private last: JobHistory['lastStep'];
  private resetFrom: string | undefined;
  private recalled: JobHistory['recalled'];
  private task: JobHistory['task'];
  private charge = new ChargeLedger();
  private source: SourceContent | undefined;
  private requests = 0;
  private result: ConversionJobResult | undefined;
  private failure: JobHistory['failure'];

  constructor(private readonly converter: LoadedDataConverter) {}

  history(): JobHistory {
    if (!this.input) throw new TypeError('a history without its first event');
    // A submit may be in flight if it was open when the job was ended from outside.
    const submit = [...this.open.values()].find(({ activity }) => activity === activityNames.convertFile);
    const isOver = this.result !== undefined || this.failure !== undefined;
    if (submit && isOver) this.submitted(undefined);
    const source = this.result?.source ?? this.source;
    return {
      input: this.input,
      timeline: this.timeline,
      charge: { ...this.charge.summary(), ...(source && { source }) },
      requests: this.requests,
      ...defined({
        lastStep: this.last,
        resetFrom: this.resetFrom,
        recalled: this.recalled,
        task: this.task,
        result: this.result,
        failure: this.failure,
      }),
    };
  }

  async read(event: HistoryEvent): Promise<void> {
    const at = toMilliseconds(event.eventTime) ?? 0;
    const id = Number(event.eventId ?? 0);
    if (event.workflowExecutionStartedEventAttributes) {
      const [input] = await this.decode(event.workflowExecutionStartedEventAttributes.input?.payloads);
      this.input = input as ConversionJobInput;
      this.charge = new ChargeLedger(this.input.earlier);
      this.source = this.input.earlier?.source;
      this.happened(at, 'started');
    }
    if (event.workflowExecutionSignaledEventAttributes) {
      this.happened(at, signalText(event.workflowExecutionSignaledEventAttributes.signalName));
    }
    if (event.workflowExecutionCancelRequestedEventAttributes) this.happened(at, 'cancel requested');
    // A reset: this history lacks what the previous run did after this point.
    const reset = event.workflowTaskFailedEventAttributes;
    if (reset?.newRunId) {
      this.charge.foundOpen();
      this.resetFrom = reset.baseRunId ?? undefined;
    }
    await this.readActivity(event, at, id);
    await this.readEnd(event, at);
  }

  private async readActivity(event: HistoryEvent, at: number, id: number): Promise<void> {
    const scheduled = event.activityTaskScheduledEventAttributes;
    if (scheduled) {
      const [input] = await this.decode(scheduled.input?.payloads);
      this.begin(id, at, { activity: scheduled.activityType?.name ?? '', input });
    }
    if (event.activityTaskStartedEventAttributes) {
      const { scheduledEventId, attempt } = event.activityTaskStartedEventAttributes;
      this.started.set(Number(scheduledEventId), attempt ?? 1);
    }
    const completed = event.activityTaskCompletedEventAttributes;
    if (completed) {
      const [result] = await this.decode(completed.result?.payloads);
      const step = this.end(completed.scheduledEventId, at, 'done');
      if (step) this.stepDone(step, result);
    }
    const failed = event.activityTaskFailedEventAttributes ?? event.activityTaskTimedOutEventAttributes;
    if (failed) {
      const error = await decodeFailure(this.converter, failed.failure);
      const step = this.end(failed.scheduledEventId, at, 'failed');
      if (step) this.stepFailed(step, readStepFailure(error));
    }
    if (event.activityTaskCanceledEventAttributes) {
      this.end(event.activityTaskCanceledEventAttributes.scheduledEventId, at, 'cancelled');
    }
  }

  private begin(id: number, at: number, step: Omit<Step, 'entry'>): void {
    const { activity, input } = step;
    const isParked = (input as Parking).parked !== undefined;
    const entry: TimelineEntry = {
      at,
      what: isParked ? 'parked' : (stepOfActivity[activity] ?? activity),
      outcome: 'open',
    };
    this.timeline.push(entry);
    this.open.set(id, { ...step, entry });
    if (activity === activityNames.discardDownload) return;
    this.last = { activity, entry, hasCallback: this.last?.hasCallback ?? false };
    if (activity === activityNames.convertFile) {
      this.task = undefined;
      this.last.hasCallback = false;
    }
    if (activity === activityNames.checkTask) this.task ??= { taskId: (input as CheckTaskInput).taskId };
  }

  private end(scheduledEventId: unknown, at: number, outcome: 'done' | 'failed' | 'cancelled'): Step | undefined {
    const id = Number(scheduledEventId);
    const step = this.open.get(id);
    if (!step) return undefined;
    this.open.delete(id);
    const attempts = this.started.get(id);
    Object.assign(step.entry, { endedAt: at, outcome, ...(attempts !== undefined && { attempts }) });
    return step;
  }

  /** Mirrors the workflow's own ledger. `taskId` is absent when the outcome is unknown. */
  private submitted(taskId: string | undefined): void {
    this.resetFrom = undefined;
    if (taskId === undefined) this.charge.unknown();
    else this.charge.accepted(taskId);
  }

  private stepDone(step: Step, result: unknown): void {
    const { activity, entry } = step;
    const { requests = 0 } = (result ?? {}) as { requests?: number };
    entry.requests = requests;
    this.requests += requests;
    if (activity === activityNames.recallJob) this.recall(result as RecallJobResult);
    if (activity === activityNames.convertFile) {
      const accepted = result as ConvertFileResult;
      if (accepted.skipped) return;
      this.submitted(accepted.report.taskId);
      this.knowTask(accepted.report);
      if (this.last) this.last.hasCallback = accepted.callback === true;
    }
    if (activity === activityNames.uploadFile)
      this.source = (result as { source?: SourceContent }).source ?? this.source;
    if (activity === activityNames.checkTask) {
      const { report } = result as CheckTaskResult;
      this.charge.resolved(report.taskId);
      this.knowTask(report);
    }
  }

  private recall(recalled: RecallJobResult): void {
    this.recalled = recalled.kind;
    const { charge = 'maybe', ...left } =
      recalled.kind === 'start' ? (recalled.earlier ?? { charge: 'no' }) : recalled.outcome;
    const earlier = { charge, ...left };
    this.charge = new ChargeLedger(earlier);
    this.source = earlier.source;
  }

  private knowTask({ taskId, vcredits }: CheckTaskResult['report']): void {
    this.task = defined({ taskId, vcredits });
  }

  private stepFailed(step: Step, failure: StepFailure): void {
    const { activity, entry } = step;
    const { code, message, reaction, isOfTask, requests, hasCallback } = failure;
    const isUnknown = reaction === 'outcomeUnknown';
    Object.assign(entry, { code, message, requests });
    this.requests += requests;
    if (activity !== activityNames.discardDownload && this.last) {
      this.last.failure = failure;
      if (activity === activityNames.convertFile) this.last.hasCallback = hasCallback;
    }
    if (activity === activityNames.convertFile && isUnknown) this.submitted(undefined);
    if (isOfTask) this.charge.failedAtService();
    if (reaction === 'taskLost') this.charge.lost();
    if (isUnknown || isOfTask || reaction === 'taskLost') this.task = undefined;
  }

  private async readEnd(event: HistoryEvent, at: number): Promise<void> {
    const completed = event.workflowExecutionCompletedEventAttributes;
    if (completed) {
      const [result] = await this.decode(completed.result?.payloads);
      this.result = result as ConversionJobResult;
      this.happened(at, 'completed');
    }
    const failed = event.workflowExecutionFailedEventAttributes;
    if (failed) {
      const error = await decodeFailure(this.converter, failed.failure);
      const isOurs = error instanceof ApplicationFailure;
      this.failure = {
        code: (isOurs ? error.type : undefined) ?? 'FAILED',
        message: error?.message ?? '',
        ...(isOurs && { details: error.details?.[0] }),
      };
      this.happened(at, 'failed');
    }
    if (event.workflowExecutionCanceledEventAttributes) this.ended(at, 'cancelled', 'CANCELLED');
    if (event.workflowExecutionTimedOutEventAttributes) this.ended(at, 'timed out', 'TIMED_OUT');
    const terminated = event.workflowExecutionTerminatedEventAttributes;
    if (terminated) this.ended(at, 'terminated', 'TERMINATED', terminated.reason ?? '');
  }

  private ended(at: number, what: string, code: string, reason = ''): void {
    this.failure = { code, message: reason === '' ? `the job was ${what}` : `the job was ${what}: ${reason}` };
    this.happened(at, what);
  }

  private happened(at: number, what: string): void {
    this.timeline.push({ at, what });
  }

  private decode(payloads: Parameters<typeof decodePayloads>[1]): Promise<unknown[]> {
    return decodePayloads(this.converter, payloads);
  }
}

/** Mirrors the workflow's own reading of failures: which ones prove that nothing ran. */
function readStepFailure(error: Error | undefined): StepFailure {
  if (error instanceof TimeoutFailure) {
    const fence = readFence(error.lastHeartbeatDetails);
    return {
      code: `TIMEOUT_${error.timeoutType}`,
      message: error.cause?.message ?? `no answer from the worker (${error.timeoutType})`,
      reaction: fence ? 'outcomeUnknown' : 'fail',
      isOfTask: false,
      requests: fence ? 1 : 0,
      hasCallback: fence?.callback === true,
    };
  }
  const isOurs = error instanceof ApplicationFailure;
  const details = (isOurs ? (error.details?.[0] ?? {}) : {}) as Partial<ActivityFailureDetails>;
  return {
    code: details.code ?? (isOurs ? error.type : undefined) ?? 'UNEXPECTED',
    message: error?.message ?? '',
    reaction: details.reaction ?? 'fail',
    isOfTask: details.origin === 'task',
    requests: details.requests ?? 0,
    hasCallback: details.callback === true,
  };
}

function signalText(name: string | null | undefined): string {
  if (name === conversionCallbackSignal) return 'callback arrived';
  if (name === appReadySignal) return 'told that the app is ready';
  return `signal ${name ?? ''}`;
}

/** Milliseconds since the epoch of a protobuf timestamp. */
export function toMilliseconds(
  time: { seconds?: unknown; nanos?: number | null } | null | undefined,
): number | undefined {
  if (!time) return undefined;
  return Number(time.seconds ?? 0) * 1_000 + Math.floor((time.nanos ?? 0) / 1_000_000);
}
