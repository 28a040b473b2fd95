import {
  CancellationScope,
  defineQuery,
  isCancellation,
  setHandler,
  sleep,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import type { TaskReport } from '../shared/activities';
import { failureCodes } from '../shared/activities';
import type {
  ConversionJobInput,
  ConversionJobResult,
  ConversionJobState,
  JobPhase,
  SourceContent,
} from '../shared/job';
import { lastSegment, sourceName } from '../shared/job';
import { conversionStateQuery } from '../shared/names';
import { awaitConversion, awaitProof } from './await-conversion';
import { CreditsPark } from './credits-park';
import { createJobActivities } from './job-activities';
import { JobCallbacks } from './job-callbacks';
import type { JobFailure } from './job-failure';
import { readFailure } from './job-failure';
import type { JobActivities } from './job-activities';
import type { JobParts } from './job-parts';
import { countEnd, countUnknownOutcome } from './job-metrics';
import { JobProgress } from './job-progress';
import type { ResolvedPolicies } from './policies';
import { resolvePolicies } from './policies';
import { submitConversion } from './submit-conversion';

const stateQuery = defineQuery<ConversionJobState>(conversionStateQuery);

/**
 * Converts one file: upload, convert, wait, download, each a step that survives the loss of any process.
 *
 * Never submits a conversion blindly again: see `policies.onUnknownOutcome`. Fails with an `ApplicationFailure` whose type is the
 * document's error code (section "Errors") or one of ours, and whose first detail is a `ConversionFailureDetails`.
 */
export async function conversionJob(input: ConversionJobInput): Promise<ConversionJobResult> {
  const job = new ConversionJob(input);
  setHandler(stateQuery, () => job.progress.state());
  job.callbacks.listen();
  job.credits.listen();
  try {
    return await job.run();
  } catch (error) {
    if (isCancellation(error)) await CancellationScope.nonCancellable(() => job.cancelled());
    throw error;
  }
}

class ConversionJob implements JobParts {
  readonly policies: ResolvedPolicies;
  readonly name: string;
  readonly activities: JobActivities;
  readonly progress: JobProgress;
  readonly callbacks = new JobCallbacks();
  readonly credits: CreditsPark;
  private resubmissions = 0;
  private uploadsLeft: number;
  private source: SourceContent | undefined;

  constructor(readonly input: ConversionJobInput) {
    this.policies = resolvePolicies(input);
    this.name = sourceName(input.source);
    this.activities = createJobActivities(this.policies);
    this.progress = new JobProgress(input);
    const { creditsDeadlineMs } = this.policies;
    this.credits = new CreditsPark({ app: input.app, creditsDeadlineMs }, this.progress);
    // A lost upload is made good once: a second loss has another reason.
    this.uploadsLeft = 'uri' in input.source ? 2 : 0;
  }

  async run(): Promise<ConversionJobResult> {
    const uploaded = 'connector' in this.input.source ? this.input.source.connector : await this.upload();
    if (uploaded === 'skipped') return this.result('skipped');
    const report = await this.convert(uploaded);
    if (report === 'skipped') return this.result('skipped');
    this.progress.vcredits = report.vcredits;
    if (this.input.destination === undefined) return this.result('succeeded', report);
    return this.download(report, this.input.destination);
  }

  /** Leaves nothing behind, and says what can't be undone. */
  async cancelled(): Promise<void> {
    const { taskId, phase } = this.progress;
    const leftOver = phase === 'downloading' ? await this.discardDownload() : '';
    const goesOn = taskId !== undefined && phase === 'converting';
    const note = goesOn
      ? `Cancelled while ${phase}. The service has no cancel endpoint: conversion task ${taskId} goes on there and may be charged.`
      : [`Cancelled while ${phase}.`, leftOver].filter(Boolean).join(' ');
    this.progress.enter('cancelled', note);
    countEnd('cancelled');
    upsertMemo({ conversionNote: note, ...(taskId !== undefined && { conversionTaskId: taskId }) });
  }

  private async upload(): Promise<string> {
    if (!('uri' in this.input.source)) throw new TypeError('only a file can be uploaded');
    const { app, output, destination } = this.input;
    const { uri } = this.input.source;
    this.uploadsLeft -= 1;
    const request = {
      app,
      uri,
      output,
      ...(destination !== undefined && { destination }),
      onExisting: this.policies.onExisting,
      ...(this.input.describeSource && { describeSource: true as const }),
    };
    const uploaded = await this.step('uploading', failureCodes.uploadDeadline, () =>
      this.activities.uploadFile(request, this.name),
    );
    if (uploaded.skipped) return 'skipped';
    this.progress.requests += uploaded.requests;
    this.source = uploaded.source;
    return uploaded.connector;
  }

  /**
   * Runs a repeat-safe step; parks when the app has too few vCredits for it, and then runs it again. `cleanUp` is for a step that failed, and
   * returns what a person should know.
   */
  private async step<T>(
    phase: JobPhase,
    deadlineCode: string,
    run: () => Promise<T>,
    cleanUp: () => Promise<string> = () => Promise.resolve(''),
  ): Promise<T> {
    for (;;) {
      this.progress.enter(phase);
      this.credits.forgetRestored();
      try {
        return await run();
      } catch (error) {
        if (isCancellation(error)) throw error;
        const failure = readFailure(error, deadlineCode);
        this.progress.requests += failure.requests;
        if (failure.reaction !== 'awaitCredits') throw this.progress.failed(failure, await cleanUp());
        this.progress.lastFailure = failure;
        await this.credits.wait(failure);
      }
    }
  }

  /** Submits until a conversion is done; every way round the loop has its own limit. */
  private async convert(firstConnector: string): Promise<TaskReport | 'skipped'> {
    let connector = firstConnector;
    let deadline = Date.now() + this.policies.submitDeadlineMs;
    for (;;) {
      let failure: JobFailure;
      try {
        const accepted = await submitConversion(this, { connector, deadlineMs: deadline - Date.now() });
        if (accepted.skipped) return 'skipped';
        const { report, callback = false } = accepted;
        return report.finished ? report : await awaitConversion(this, { taskId: report.taskId, callback });
      } catch (error) {
        if (isCancellation(error)) throw error;
        failure = this.readConvertFailure(error);
      }
      this.progress.requests += failure.requests;
      this.progress.lastFailure = failure;
      if (failure.reaction === 'outcomeUnknown' && failure.callback) {
        const proof = await awaitProof(this, failure);
        if (proof.report) return proof.report;
        failure = proof.failure;
      }
      if (failure.reaction === 'submitAfterLoss' && Date.now() >= deadline) throw this.progress.failed(failure);
      const next = await this.react(failure);
      if (failure.reaction === 'awaitCredits') deadline = this.credits.deadline + this.policies.submitTimeoutMs;
      if (next === 'uploadAgain') {
        const again = await this.upload();
        if (again === 'skipped') return 'skipped';
        connector = again;
      }
    }
  }

  /** Waits as the failure asks before the next submit, or throws the job's own failure. */
  private async react(failure: JobFailure): Promise<'submitAgain' | 'uploadAgain'> {
    switch (failure.reaction) {
      case 'submitAfterLoss':
        return 'submitAgain';
      case 'awaitCredits':
        if (this.credits.isOverdue) throw this.progress.failed(this.credits.outOfCredits(failure));
        // From here on the submit itself asks again and again, which adds nothing to the history.
        this.credits.enter();
        return 'submitAgain';
      case 'uploadAgain':
        if (this.uploadsLeft > 0) return 'uploadAgain';
        throw this.progress.failed(failure);
      case 'submitAgain':
        if (this.resubmissions >= this.policies.maxResubmissions) throw this.progress.failed(failure);
        await this.pauseBeforeResubmission();
        return 'submitAgain';
      case 'outcomeUnknown':
        if (this.policies.onUnknownOutcome === 'fail') {
          this.tellUnknownOutcome('failed', failure);
          throw this.progress.failed(
            failure,
            `Policy onUnknownOutcome is "fail": nothing was submitted again. Look at the service whether the conversion ran; to convert all the same: fileconv job retry ${workflowInfo().workflowId} --resubmit`,
          );
        }
        if (this.resubmissions >= this.policies.maxResubmissions) {
          this.tellUnknownOutcome('failed', failure);
          throw this.progress.failed(failure);
        }
        this.tellUnknownOutcome('resubmitted', failure);
        this.progress.possiblyChargedTwice = true;
        await this.pauseBeforeResubmission();
        return 'submitAgain';
      case 'fail':
        throw this.progress.failed(failure);
    }
  }

  private tellUnknownOutcome(decision: 'failed' | 'resubmitted', failure: JobFailure): void {
    countUnknownOutcome(decision);
    this.progress.log.unknownOutcome(decision, failure);
  }

  private async pauseBeforeResubmission(): Promise<void> {
    this.progress.enter('submitting', 'Waits a moment before it submits the conversion again.');
    const { retryInitialIntervalMs, retryMaximumIntervalMs } = this.policies;
    const pauseMs = Math.min(retryInitialIntervalMs * 2 ** this.resubmissions, retryMaximumIntervalMs);
    await sleep(pauseMs, { summary: 'before the next submit' });
    this.resubmissions += 1;
  }

  private readConvertFailure(error: unknown): JobFailure {
    if (this.progress.phase === 'converting') return readFailure(error, failureCodes.conversionDeadline);
    const deadlineCode = this.credits.isParked ? failureCodes.creditsDeadline : failureCodes.submitDeadline;
    const failure = readFailure(error, deadlineCode, { isSubmit: true });
    return failure.code === failureCodes.creditsDeadline ? this.credits.outOfCredits(failure) : failure;
  }

  private async download(report: TaskReport, destination: string): Promise<ConversionJobResult> {
    const request = {
      app: this.input.app,
      taskId: report.connector,
      sourceName: this.name,
      output: this.input.output,
      destination,
      onExisting: this.policies.onExisting,
    };
    const downloaded = await this.step(
      'downloading',
      failureCodes.downloadDeadline,
      () =>
        this.activities.downloadFile(request, `to ${lastSegment(destination)}${destination.endsWith('/') ? '/' : ''}`),
      async () => {
        const kept = `The converted file stays at the service as task ${report.connector} until it expires there.`;
        return [kept, await this.discardDownload()].filter(Boolean).join(' ');
      },
    );
    this.progress.requests += downloaded.requests;
    if (downloaded.skipped) return this.result('skipped', report);
    return { ...this.result('succeeded', report), output: downloaded.file };
  }

  /** Returns what a person should know when it could not be done. */
  private async discardDownload(): Promise<string> {
    if (this.input.destination === undefined) return '';
    const { app, destination } = this.input;
    try {
      await this.activities.discardDownload({ app, destination });
      return '';
    } catch (error) {
      const { message } = readFailure(error, failureCodes.downloadDeadline);
      return `A temporary file may be left beside ${destination}: ${message}`;
    }
  }

  private result(status: ConversionJobResult['status'], report?: TaskReport): ConversionJobResult {
    this.progress.enter('completed');
    countEnd(status);
    return {
      status,
      ...(report && { taskId: report.taskId, connector: report.connector }),
      ...(this.source && { source: this.source }),
      ...(report?.vcredits !== undefined && { vcredits: report.vcredits }),
      ...(report?.durationSeconds !== undefined && { durationSeconds: report.durationSeconds }),
      warnings: report?.warnings ?? {},
      requests: this.progress.requests,
      charge: this.progress.charge,
      possiblyChargedTwice: this.progress.possiblyChargedTwice,
      phaseMs: this.progress.phaseMs,
    };
  }
}
