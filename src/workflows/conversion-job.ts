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
import type { ConversionJobInput, ConversionJobResult, ConversionJobState, JobPhase } from '../shared/job';
import { lastSegment, sourceName } from '../shared/job';
import { conversionStateQuery } from '../shared/names';
import { shownTime } from '../shared/shown-time';
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
import { OrderedWaits } from './ordered-waits';
import type { ResolvedPolicies } from './policies';
import { resolvePolicies } from './policies';
import { RoomWait } from './room-wait';
import { submitConversion } from './submit-conversion';

/** Since the job began, or was last parked. */
const uploadsAtMost = 2;

/** What is converted. */
interface Uploaded {
  connector: string;
  /** Absent when another job uploaded it. */
  bytes?: number;
}

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
  readonly waits: OrderedWaits;
  readonly room: RoomWait;
  private resubmissions = 0;
  private uploadsLeft: number;

  constructor(readonly input: ConversionJobInput) {
    this.policies = resolvePolicies(input);
    this.name = sourceName(input.source);
    this.progress = new JobProgress(input);
    const { creditsDeadlineMs } = this.policies;
    this.waits = new OrderedWaits({
      longestMs: creditsDeadlineMs,
      onWait: (untilMs, message) =>
        this.progress.enter(
          this.progress.phase,
          `Waits until ${shownTime(untilMs)} UTC, as the service orders: ${message}`,
        ),
    });
    this.activities = createJobActivities(this.policies, this.waits);
    this.credits = new CreditsPark({ app: input.app, creditsDeadlineMs }, this.progress);
    const { destination = '' } = input;
    this.room = new RoomWait({ destination, deadlineMs: this.policies.downloadDeadlineMs }, this.progress);
    // A lost upload is made good once: a second loss has another reason.
    this.uploadsLeft = 'uri' in input.source ? uploadsAtMost : 0;
  }

  async run(): Promise<ConversionJobResult> {
    const { taskId } = this.progress.charge;
    const fetched = taskId === undefined ? 'lost' : await this.fetchEarlier(taskId);
    return fetched === 'lost' ? this.convertFile() : fetched;
  }

  /** Awaits and fetches what an earlier run of the job was accepted as. */
  private async fetchEarlier(taskId: string): Promise<ConversionJobResult | 'lost'> {
    this.progress.taskId = taskId;
    let report: TaskReport;
    try {
      report = await awaitConversion(this, { taskId, callback: false, isEarlier: true });
    } catch (error) {
      if (isCancellation(error)) throw error;
      const failure = readFailure(error, failureCodes.conversionDeadline);
      this.noteFailure(failure);
      // The task failed, in a way that submitting again is good for, and it was free.
      if (failure.reaction === 'submitAgain' || failure.reaction === 'uploadAgain') return 'lost';
      if (failure.reaction === 'awaitCredits') return 'lost';
      return this.giveUpTask(failure);
    }
    return this.deliver(report, (failure) => this.giveUpTask(failure));
  }

  /** What becomes of a job whose accepted task failed for good, or is gone: only what is gone may be converted again. */
  private giveUpTask(failure: JobFailure): 'lost' {
    if (failure.reaction !== 'taskLost') throw this.progress.failed(failure);
    // Not so when nothing is owed for it: its result was delivered once.
    if (this.policies.onUnknownOutcome === 'fail' && this.progress.charge.charge !== 'no') {
      throw this.progress.failed(
        failure,
        `The conversion was paid for, and the service no longer has it. Policy onUnknownOutcome is "fail": nothing was submitted again. To convert all the same: fileconv job retry ${workflowInfo().workflowId} --resubmit`,
      );
    }
    this.progress.taskId = undefined;
    return 'lost';
  }

  private async convertFile(): Promise<ConversionJobResult> {
    const uploaded = 'connector' in this.input.source ? this.input.source : await this.upload();
    if (uploaded === 'skipped') return this.result('skipped');
    const report = await this.convert(uploaded);
    if (report === 'skipped') return this.result('skipped');
    return this.deliver(report, (failure) => {
      throw this.progress.failed(failure);
    });
  }

  /** `onLost`: what to do when the service no longer has the result. */
  private async deliver<Lost>(
    report: TaskReport,
    onLost: (failure: JobFailure) => Lost,
  ): Promise<ConversionJobResult | Lost> {
    this.progress.vcredits = report.vcredits;
    this.progress.warn(report.warnings);
    if (this.input.destination === undefined) return this.result('succeeded', report);
    return this.download(report, this.input.destination, onLost);
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
    const { charge, taskId: accepted = taskId } = this.progress.charge;
    upsertMemo({
      conversionNote: note,
      conversionPhase: phase,
      conversionCharge: charge,
      ...(accepted !== undefined && { conversionTaskId: accepted }),
    });
  }

  private async upload(): Promise<Uploaded | 'skipped'> {
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
    this.progress.source = uploaded.source;
    this.progress.warn(uploaded.warnings);
    return uploaded;
  }

  /**
   * Runs a repeat-safe step; parks when the app has too few vCredits for it, and then runs it again. `cleanUp` is for a step that failed, and
   * returns what a person should know.
   */
  private async step<T, Lost = never>(
    phase: JobPhase,
    deadlineCode: string,
    run: () => Promise<T>,
    {
      cleanUp = () => Promise.resolve(''),
      onLost = (failure) => {
        throw this.progress.failed(failure);
      },
    }: { cleanUp?: () => Promise<string>; onLost?: (failure: JobFailure) => Lost } = {},
  ): Promise<T | Lost> {
    for (;;) {
      this.progress.enter(phase, this.room.waitsFor);
      this.credits.forgetRestored();
      try {
        return await run();
      } catch (error) {
        if (isCancellation(error)) throw error;
        const failure = this.room.explain(readFailure(error, this.room.deadlineCode(deadlineCode)));
        this.progress.requests += failure.requests;
        if (failure.reaction === 'taskLost') {
          this.progress.charge.lost();
          return onLost(failure);
        }
        if (failure.reaction !== 'awaitCredits' && failure.reaction !== 'awaitRoom') {
          throw this.progress.failed(failure, await cleanUp());
        }
        this.progress.lastFailure = failure;
        if (failure.reaction === 'awaitRoom') this.room.enter(failure);
        else await this.credits.wait(failure);
      }
    }
  }

  /** Submits until a conversion is done; every way round the loop has its own limit. */
  private async convert(firstUpload: Uploaded): Promise<TaskReport | 'skipped'> {
    let { connector, bytes: sourceBytes } = firstUpload;
    let deadline = Date.now() + this.policies.submitDeadlineMs;
    for (;;) {
      let failure: JobFailure;
      try {
        const accepted = await submitConversion(this, { connector, sourceBytes, deadlineMs: deadline - Date.now() });
        if (accepted.skipped) return 'skipped';
        const { report, callback = false } = accepted;
        return report.finished ? report : await awaitConversion(this, { taskId: report.taskId, callback });
      } catch (error) {
        if (isCancellation(error)) throw error;
        const isSubmit = this.progress.phase !== 'converting';
        failure = this.readConvertFailure(error);
        if (isSubmit && failure.origin === 'request' && failure.reaction !== 'outcomeUnknown')
          this.progress.charge.refused();
      }
      this.noteFailure(failure);
      if (failure.reaction === 'outcomeUnknown' && failure.callback) {
        const proof = await awaitProof(this, failure);
        if (proof.report) return proof.report;
        failure = proof.failure;
        if (failure.origin === 'task') this.progress.charge.failedAtService();
      }
      if (failure.reaction === 'submitAfterLoss' && Date.now() >= deadline + this.waits.waitedMs) {
        throw this.progress.failed(failure);
      }
      const next = await this.react(failure);
      if (failure.reaction === 'awaitCredits') deadline = this.credits.deadline + this.policies.submitTimeoutMs;
      if (failure.reaction === 'awaitRoom') deadline = this.room.deadline + this.policies.submitTimeoutMs;
      if (next === 'uploadAgain') {
        const again = await this.upload();
        if (again === 'skipped') return 'skipped';
        ({ connector, bytes: sourceBytes } = again);
      }
    }
  }

  private noteFailure(failure: JobFailure): void {
    const { progress } = this;
    progress.requests += failure.requests;
    progress.lastFailure = failure;
    if (failure.afterReset) progress.charge.foundOpen();
    if (failure.origin === 'task') progress.charge.failedAtService();
    else if (failure.reaction === 'outcomeUnknown') progress.charge.unknown();
    else if (failure.reaction === 'taskLost') progress.charge.lost();
  }

  /** Waits as the failure asks before the next submit, or throws the job's own failure. */
  private async react(failure: JobFailure): Promise<'submitAgain' | 'uploadAgain'> {
    switch (failure.reaction) {
      case 'submitAfterLoss':
        return 'submitAgain';
      case 'awaitCredits':
        if (this.credits.isOverdue) throw this.progress.failed(this.credits.outOfCredits(failure));
        // What was uploaded may expire at the service before there are credits again, which is nobody's fault.
        this.uploadsLeft = 'uri' in this.input.source ? uploadsAtMost : 0;
        await this.credits.park();
        return 'submitAgain';
      case 'awaitRoom':
        this.room.enter(failure);
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
        await this.pauseBeforeResubmission();
        return 'submitAgain';
      case 'taskLost':
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
    const deadlineCode = this.credits.isParked
      ? failureCodes.creditsDeadline
      : this.room.deadlineCode(failureCodes.submitDeadline);
    const failure = this.room.explain(readFailure(error, deadlineCode, { isSubmit: true }));
    return failure.code === failureCodes.creditsDeadline ? this.credits.outOfCredits(failure) : failure;
  }

  private async download<Lost>(
    report: TaskReport,
    destination: string,
    onLost: (failure: JobFailure) => Lost,
  ): Promise<ConversionJobResult | Lost> {
    const request = {
      app: this.input.app,
      taskId: report.connector,
      sourceName: this.name,
      output: this.input.output,
      destination,
      onExisting: this.policies.onExisting,
    };
    const summary = `to ${lastSegment(destination)}${destination.endsWith('/') ? '/' : ''}`;
    const downloaded = await this.step(
      'downloading',
      failureCodes.downloadDeadline,
      () => {
        const deadlineMs = Math.max(this.room.deadline - Date.now(), 1);
        return this.activities.downloadFile({ ...request, ...this.room.needed() }, { summary, deadlineMs });
      },
      {
        cleanUp: async () => {
          const kept = `The converted file stays at the service as task ${report.connector} until it expires there.`;
          return [kept, await this.discardDownload()].filter(Boolean).join(' ');
        },
        onLost: (failure) => ({ lost: onLost(failure) }),
      },
    );
    if ('lost' in downloaded) return downloaded.lost;
    this.progress.requests += downloaded.requests;
    this.progress.warn(downloaded.skipped ? {} : downloaded.warnings);
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
    const { progress } = this;
    progress.enter('completed');
    countEnd(status);
    return {
      status,
      ...(report && { taskId: report.taskId, connector: report.connector }),
      ...(progress.source && { source: progress.source }),
      ...(report?.vcredits !== undefined && { vcredits: report.vcredits }),
      ...(report?.durationSeconds !== undefined && { durationSeconds: report.durationSeconds }),
      warnings: progress.warnings,
      requests: progress.requests,
      charge: progress.charge.charge,
      possiblyChargedTwice: progress.charge.possiblyChargedTwice,
      phaseMs: progress.phaseMs,
    };
  }
}
