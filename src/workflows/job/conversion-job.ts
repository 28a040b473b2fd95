import {
  CancellationScope,
  defineQuery,
  isCancellation,
  setHandler,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import { failureCodes, type TaskReport } from '../../job/activities';
import { defined } from '../../job/defined';
import { shellWord } from '../../messages/wording';
import {
  type ConversionJobInput,
  type ConversionJobResult,
  type ConversionJobState,
  type JobOutcome,
  lastSegment,
  type Recall,
} from '../../job/types';
import type { EarlierRuns } from '../../job/charge';
import { conversionStateQuery } from '../../job/names';
import { retryOf } from '../../job/run-before';
import { awaitConversion } from './await-conversion';
import { convertSource, noteFailure } from './convert-source';
import type { JobFailure } from './job-failure';
import { discardDownload, runStep, JobParts } from './job-parts';
import { countEnd } from './job-progress';
import { SourceUpload } from './upload-source';

const stateQuery = defineQuery<ConversionJobState>(conversionStateQuery);

/**
 * Converts one file: upload, convert, wait, download. Each step survives the loss of any process.
 *
 * Never blindly submits a conversion twice: see `policies.onUnknownOutcome`. Fails with an `ApplicationFailure`: its
 * type is the document's error code (section "Errors") or one of ours, its first detail a `ConversionFailureDetails`.
 */
export async function conversionJob(input: ConversionJobInput): Promise<ConversionJobResult> {
  const job = new ConversionJob(input);
  setHandler(stateQuery, () => job.progress.state());
  job.callbacks.listen();
  job.park.listen();
  try {
    return await job.run();
  } catch (error) {
    if (isCancellation(error)) await CancellationScope.nonCancellable(() => job.cancelled());
    throw error;
  }
}

class ConversionJob extends JobParts {
  private upload = new SourceUpload(this);
  /** For a conversion of before that may have been charged and can't be fetched. */
  private ruleForEarlier = this.policies.onUnknownOutcome;

  run(): Promise<ConversionJobResult> {
    const { recall, earlier } = this.input;
    return recall ? this.runAfter(recall, earlier) : this.goOn();
  }

  private async runAfter(recall: Recall, known: EarlierRuns | undefined): Promise<ConversionJobResult> {
    const recalled = await this.recall(recall, known);
    return recalled ?? this.goOn();
  }

  /** With what earlier runs are known to have left. */
  private goOn(): Promise<ConversionJobResult> {
    const { taskId } = this.progress.charge;
    return taskId === undefined ? this.convertFile() : this.fetchEarlier(taskId);
  }

  /** Looks up what the last run under this id left. Undefined: the job continues with that knowledge. */
  private async recall(recall: Recall, known: EarlierRuns | undefined): Promise<ConversionJobResult | undefined> {
    const { app, source, output, input, parameters, destination } = this.input;
    this.ruleForEarlier = recall.onUnknownOutcome;
    const job = defined({ app, source, output, input, parameters, destination });
    const recalled = await this.activities.recallJob(defined({ job, recall, known }));
    switch (recalled.kind) {
      case 'start':
        this.progress.takeUp(recalled.earlier);
        // The destination now holds any result that the last run delivered after the batch was planned.
        this.replaces = recalled.replaces ?? this.replaces;
        return undefined;
      case 'keep':
        throw this.progress.kept(recalled.outcome);
      case 'done':
        return this.doneBefore(recalled.outcome, recall);
    }
  }

  private doneBefore(
    { taskId, source, output, missing, possiblyChargedExtra, ...outcome }: JobOutcome,
    { needsLookup }: Recall,
  ) {
    const { warnings = {}, possiblyChargedTwice = false, charge = 'yes' } = outcome;
    // The run that converted it has already reported the cost.
    const { vcredits, requests = 0 } = needsLookup ? outcome : {};
    const { progress } = this;
    progress.enter('completed');
    countEnd('skipped');
    return {
      status: 'skipped' as const,
      recalled: true as const,
      // By the document, a task is also the connector of its result.
      ...defined({ taskId, connector: taskId, source, output, missing, possiblyChargedExtra, vcredits }),
      ...{ warnings, possiblyChargedTwice, charge, requests },
      phaseMs: progress.phaseMs,
    };
  }

  /** Waits for the task that an earlier run of the job submitted, and downloads its result. */
  private async fetchEarlier(taskId: string): Promise<ConversionJobResult> {
    this.upload.notNeeded();
    this.progress.taskId = taskId;
    const { report, failure } = await awaitConversion(this, { taskId, callback: false, isEarlier: true });
    if (!report) {
      noteFailure(this, failure);
      // The task failed without a charge, and submitting again can succeed.
      const isFree = ['submitAgain', 'uploadAgain', 'park'].includes(failure.reaction);
      if (!isFree) this.giveUpTask(failure);
      return this.convertFile();
    }
    const delivered = await this.deliver(report);
    if (!('lost' in delivered)) return delivered;
    this.giveUpTask(delivered.lost);
    return this.convertFile();
  }

  /** @throws unless the accepted task is gone, and its source may be converted again. */
  private giveUpTask(failure: JobFailure): void {
    if (failure.reaction !== 'taskLost') throw this.progress.failed(failure);
    // Charge "no" here means that its result was already delivered once.
    if (this.progress.charge.charge === 'no') {
      throw this.progress.failed(
        failure,
        'Its result was delivered before and is gone, and the service no longer has it: nothing was submitted again. To convert it again, and pay again: the same command with --again',
      );
    }
    if (this.ruleForEarlier === 'fail') {
      throw this.progress.failed(
        failure,
        `The conversion was paid for, and the service no longer has it. Policy onUnknownOutcome is "fail": nothing was submitted again. To convert all the same: fileconv job retry ${shellWord(workflowInfo().workflowId)} --resubmit`,
      );
    }
    this.progress.taskId = undefined;
  }

  private async convertFile(): Promise<ConversionJobResult> {
    const report = await convertSource(this, this.upload);
    if ('skipped' in report) {
      return report.resetRunId === undefined ? this.result('skipped') : this.goOnAfterReset(report.resetRunId);
    }
    const delivered = await this.deliver(report);
    if ('lost' in delivered) throw this.progress.failed(delivered.lost);
    return delivered;
  }

  /** This run lacks what the one before has done since the reset point, and recalls it as `job retry` does. */
  private goOnAfterReset(runId: string): Promise<ConversionJobResult> {
    this.progress.knownRunId = runId;
    this.upload = new SourceUpload(this);
    return this.runAfter(retryOf(runId), this.progress.charge.summary());
  }

  /** `lost`: the service no longer has the result. */
  private deliver(report: TaskReport): Promise<ConversionJobResult | { lost: JobFailure }> {
    this.progress.vcredits = report.vcredits;
    this.progress.warn(report.warnings);
    if (this.input.destination === undefined) return Promise.resolve(this.result('succeeded', report));
    return this.download(report, this.input.destination);
  }

  /** Removes leftovers of the job, and notes what can't be undone. */
  async cancelled(): Promise<void> {
    const { taskId, phase, step } = this.progress;
    const leftOver = step === 'downloading' ? await discardDownload(this) : '';
    const goesOn =
      taskId !== undefined && step === 'converting'
        ? `The service has no cancel endpoint: conversion task ${taskId} continues there and may be charged.`
        : '';
    const note = [`Cancelled while ${phase}.`, goesOn, leftOver].filter(Boolean).join(' ');
    this.progress.ownUp();
    this.progress.enter('cancelled', note);
    countEnd('cancelled');
    const { charge, taskId: accepted = taskId } = this.progress.charge;
    upsertMemo({
      conversionNote: note,
      conversionPhase: phase,
      conversionCharge: charge,
      ...(accepted !== undefined && { conversionTaskId: accepted }),
    });
  }

  private async download(report: TaskReport, destination: string): Promise<ConversionJobResult | { lost: JobFailure }> {
    const request = {
      app: this.input.app,
      taskId: report.connector,
      sourceName: this.name,
      output: this.input.output,
      destination,
      onExisting: this.policies.onExisting,
      replaces: this.replaces,
      ...this.checking,
      ...(report.taskId === this.progress.earlierTaskId && { isEarlier: true as const }),
      ...(this.progress.isReset && { mayBeDelivered: true as const }),
      ...(this.host !== undefined && { host: this.host }),
    };
    const summary = `to ${lastSegment(destination)}${destination.endsWith('/') ? '/' : ''}`;
    const cleanUp = () => discardDownload(this);
    const step = { phase: 'downloading', deadlineCode: failureCodes.downloadDeadline, cleanUp } as const;
    const downloaded = await runStep(this, step, (parking) => {
      const { neededBytes } = this.park;
      const deadlineMs = this.park.stretched(this.policies.downloadDeadlineMs);
      return this.activities.downloadFile(defined({ ...request, ...parking, neededBytes }), { summary, deadlineMs });
    });
    if ('lost' in downloaded) return downloaded;
    this.progress.requests += downloaded.requests;
    this.progress.warn(downloaded.skipped ? {} : downloaded.warnings);
    if (downloaded.skipped) return this.result('skipped', report);
    const { file, suspect } = downloaded;
    if (suspect !== undefined) throw this.progress.suspect(file, suspect);
    return { ...this.result('succeeded', report), output: file };
  }

  private result(status: ConversionJobResult['status'], report?: TaskReport): ConversionJobResult {
    const { progress } = this;
    if (!report) progress.ownUp();
    progress.enter('completed');
    countEnd(status);
    const { taskId, connector, durationSeconds, vcredits }: Partial<TaskReport> = report ?? {};
    return {
      ...defined({ status, taskId, connector, source: progress.source, vcredits, durationSeconds }),
      warnings: progress.warnings,
      requests: progress.requests,
      charge: progress.charge.charge,
      ...progress.charged(),
      phaseMs: progress.phaseMs,
    };
  }
}
