import type { Client } from '@temporalio/client';
import { ApplicationFailure, TimeoutFailure, type LoadedDataConverter } from '@temporalio/common';
import {
  isStepResult,
  readAccepted,
  readFence,
  type ActivityFailureDetails,
  type CheckTaskResult,
  type ConvertFileResult,
  type RecallJobResult,
  type UploadFileResult,
} from '../job/activities';
import { ChargeLedger, type EarlierRuns } from '../job/charge';
import { defined } from '../job/defined';
import type { ConversionJobInput, ConversionJobResult, SourceContent } from '../job/types';
import { activityNames } from '../job/names';
import { recallingRunBefore } from '../job/run-before';
import { decodeFailure, decodePayloads, type History } from './payloads';

/** What the history of one run of a job says about charges; needs no worker. */
export interface JobHistory {
  input: ConversionJobInput;
  /** The run that was reset to make this one. Unless this one goes on from its state, its history tells what was paid. */
  reset?: { from: string; to: string; isTakenUp: boolean };
  /** Decision about the previous run, once it is made. */
  recalled?: RecallJobResult;
  /** What the service may have charged, in this run and in the earlier ones named in its input; with the uploaded content, if known. */
  charge: EarlierRuns;
  /** Requests of the steps that have ended: a lower bound. */
  requests: number;
  result?: ConversionJobResult;
  isOver: boolean;
}

type StepFailure = Pick<ActivityFailureDetails, 'reaction' | 'requests'> & {
  /** The task failed at the service, which is free. */
  isOfTask: boolean;
};

type HistoryEvent = NonNullable<History['events']>[number];

export async function readJobHistory(events: History['events'], converter: LoadedDataConverter): Promise<JobHistory> {
  const reader = new HistoryReader(converter);
  for (const event of events ?? []) await reader.read(event);
  return reader.history();
}

/** Fetches and reads the whole history of a run. */
export async function readRun(
  client: Client,
  { workflowId, runId }: { workflowId: string; runId: string },
): Promise<JobHistory> {
  const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  return readJobHistory(events, client.options.loadedDataConverter);
}

/** Mirrors the workflow's own ledger, for runs that could not report it. */
class HistoryReader {
  /** The activities that have not ended, by the event that scheduled each. */
  private readonly open = new Map<number, string>();
  private input: ConversionJobInput | undefined;
  private reset: JobHistory['reset'];
  /** The run that a step has found to be reset: what it lacks is recalled next. */
  private found: string | undefined;
  private recalled: JobHistory['recalled'];
  private charge = new ChargeLedger();
  private requests = 0;
  private source: SourceContent | undefined;
  private result: ConversionJobResult | undefined;
  private isOver = false;

  constructor(private readonly converter: LoadedDataConverter) {}

  history(): JobHistory {
    if (!this.input) throw new TypeError('a history without its first event');
    // A submit that was pending when the job was ended from outside may have been sent.
    if (this.isOver && [...this.open.values()].includes(activityNames.convertFile)) this.submitted(undefined);
    const source = this.result?.source ?? this.source;
    return {
      input: this.input,
      charge: { ...this.charge.summary(), ...(source && { source }) },
      requests: this.requests,
      isOver: this.isOver,
      ...defined({ reset: this.reset, recalled: this.recalled, result: this.result }),
    };
  }

  async read(event: HistoryEvent): Promise<void> {
    const started = event.workflowExecutionStartedEventAttributes;
    if (started) {
      const [input] = await this.decode(started.input?.payloads);
      this.input = recallingRunBefore(input as ConversionJobInput, started.continuedExecutionRunId);
      this.charge = new ChargeLedger(this.input.earlier);
      this.source = this.input.earlier?.source;
    }
    // A reset: this history lacks what the previous run did after this point.
    const reset = event.workflowTaskFailedEventAttributes;
    if (reset?.newRunId) {
      this.charge.mayHaveSubmitted();
      this.reset = { from: reset.baseRunId ?? '', to: reset.newRunId, isTakenUp: false };
    }
    await this.readActivity(event);
    const completed = event.workflowExecutionCompletedEventAttributes;
    if (completed) [this.result] = (await this.decode(completed.result?.payloads)) as [ConversionJobResult];
    const ended =
      completed ??
      event.workflowExecutionFailedEventAttributes ??
      event.workflowExecutionCanceledEventAttributes ??
      event.workflowExecutionTimedOutEventAttributes ??
      event.workflowExecutionContinuedAsNewEventAttributes ??
      event.workflowExecutionTerminatedEventAttributes;
    if (ended) this.isOver = true;
  }

  private async readActivity(event: HistoryEvent): Promise<void> {
    const scheduled = event.activityTaskScheduledEventAttributes;
    if (scheduled) this.open.set(Number(event.eventId), scheduled.activityType?.name ?? '');
    const completed = event.activityTaskCompletedEventAttributes;
    if (completed) {
      const [result] = await this.decode(completed.result?.payloads);
      const step = this.end(completed.scheduledEventId);
      if (step !== undefined) this.stepDone(step, result);
    }
    const failed = event.activityTaskFailedEventAttributes ?? event.activityTaskTimedOutEventAttributes;
    if (failed) {
      const error = await decodeFailure(this.converter, failed.failure);
      const step = this.end(failed.scheduledEventId);
      const accepted = error instanceof TimeoutFailure ? readAccepted(error.lastHeartbeatDetails) : undefined;
      if (step !== undefined && accepted) this.stepDone(step, accepted);
      else if (step !== undefined) this.stepFailed(step, readStepFailure(error));
    }
    const cancelled = event.activityTaskCanceledEventAttributes;
    if (cancelled) this.end(cancelled.scheduledEventId);
  }

  private end(scheduledEventId: unknown): string | undefined {
    const id = Number(scheduledEventId);
    const step = this.open.get(id);
    this.open.delete(id);
    return step;
  }

  /** `taskId` is absent if the outcome is unknown. */
  private submitted(taskId: string | undefined): void {
    if (taskId === undefined) this.charge.unknown();
    else this.charge.accepted(taskId);
  }

  private stepDone(step: string, result: unknown): void {
    if (!isStepResult(result)) {
      this.stepFailed(step, { reaction: 'outcomeUnknown', isOfTask: false });
      return;
    }
    this.requests += (result as { requests?: number } | undefined)?.requests ?? 0;
    switch (step) {
      case activityNames.recallJob:
        this.recall(result as RecallJobResult);
        break;
      case activityNames.convertFile: {
        const accepted = result as ConvertFileResult;
        if (accepted.skipped) this.found = accepted.resetRunId;
        else this.submitted(accepted.report.taskId);
        break;
      }
      case activityNames.uploadFile: {
        const uploaded = result as UploadFileResult;
        if (uploaded.skipped) this.found = uploaded.resetRunId;
        else this.source = uploaded.source ?? this.source;
        break;
      }
      case activityNames.checkTask:
        this.charge.resolved((result as CheckTaskResult).report.taskId);
        break;
    }
  }

  private recall(recalled: RecallJobResult): void {
    this.recalled = recalled;
    const { charge = 'maybe', ...left } =
      recalled.kind === 'start' ? (recalled.earlier ?? { charge: 'no' }) : recalled.outcome;
    const earlier = { charge, ...left };
    this.charge = new ChargeLedger(earlier);
    // The recall of an older run may have been pending when this run was made.
    if (this.reset && this.found === this.reset.to) this.reset.isTakenUp = recalled.kind === 'start';
    else if (this.reset) this.charge.mayHaveSubmitted();
    this.source = earlier.source;
  }

  private stepFailed(step: string, { reaction, isOfTask, requests = 0 }: StepFailure): void {
    this.requests += requests;
    const isUnknown = reaction === 'outcomeUnknown';
    if (step === activityNames.convertFile && isUnknown) this.submitted(undefined);
    if (isOfTask) this.charge.failedAtService();
    if (reaction === 'taskLost') this.charge.lost();
  }

  private decode(payloads: Parameters<typeof decodePayloads>[1]): Promise<unknown[]> {
    return decodePayloads(this.converter, payloads);
  }
}

/** Reads failures as the workflow does: which of them prove that nothing ran. */
function readStepFailure(error: Error | undefined): StepFailure {
  if (error instanceof TimeoutFailure) {
    return { reaction: readFence(error.lastHeartbeatDetails) ? 'outcomeUnknown' : 'fail', isOfTask: false };
  }
  const details = error instanceof ApplicationFailure ? error.details?.[0] : undefined;
  // As foreign to the workflow, a submit may have been sent.
  const { reaction = 'outcomeUnknown', origin, requests } = (details ?? {}) as Partial<ActivityFailureDetails>;
  return { reaction, isOfTask: origin === 'task', ...(requests !== undefined && { requests }) };
}
