import {
  CancellationScope,
  condition,
  defineQuery,
  defineSignal,
  isCancellation,
  setHandler,
  sleep,
  upsertMemo,
} from '@temporalio/workflow';
import type { ConvertFileResult, TaskReport } from '../shared/activities';
import { failureCodes } from '../shared/activities';
import type {
  ConversionJobInput,
  ConversionJobResult,
  ConversionJobState,
  JobPhase,
  SourceContent,
} from '../shared/job';
import { lastSegment, sourceName } from '../shared/job';
import { conversionStateQuery, creditsRestoredSignal } from '../shared/names';
import type { JobActivities } from './job-activities';
import { createJobActivities } from './job-activities';
import { JobCallbacks } from './job-callbacks';
import type { JobFailure } from './job-failure';
import { readFailure } from './job-failure';
import { JobProgress } from './job-progress';
import type { ResolvedPolicies } from './policies';
import { resolvePolicies } from './policies';

const stateQuery = defineQuery<ConversionJobState>(conversionStateQuery);
const creditsRestored = defineSignal(creditsRestoredSignal);

const firstCreditsRecheckMs = 60_000;
const maxCreditsRecheckMs = 3_600_000;

/**
 * Converts one file: upload, convert, wait, download, each a step that survives the loss of any process.
 *
 * Never submits a conversion blindly again: see `policies.onUnknownOutcome`. Fails with an `ApplicationFailure` whose type is the
 * document's error code (section "Errors") or one of ours, and whose first detail is a `ConversionFailureDetails`.
 */
export async function conversionJob(input: ConversionJobInput): Promise<ConversionJobResult> {
  const policies = resolvePolicies(input);
  const job = new ConversionJob(input, policies);
  setHandler(stateQuery, () => job.progress.state());
  job.callbacks.listen();
  setHandler(creditsRestored, () => {
    job.creditsRestored = true;
    job.creditsRestoredAt = Date.now();
  });
  try {
    return await job.run();
  } catch (error) {
    if (isCancellation(error)) await CancellationScope.nonCancellable(() => job.cancelled());
    throw error;
  }
}

class ConversionJob {
  readonly progress: JobProgress;
  readonly callbacks = new JobCallbacks();
  creditsRestored = false;
  creditsRestoredAt: number | undefined;
  private readonly activities: JobActivities;
  private readonly name: string;
  private resubmissions = 0;
  private parkedSince: number | undefined;
  private creditChecks = 0;
  private uploadsLeft: number;
  private source: SourceContent | undefined;

  constructor(
    private readonly input: ConversionJobInput,
    private readonly policies: ResolvedPolicies,
  ) {
    this.progress = new JobProgress(input);
    this.activities = createJobActivities(policies);
    this.name = sourceName(input.source);
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
      try {
        return await run();
      } catch (error) {
        if (isCancellation(error)) throw error;
        const failure = readFailure(error, deadlineCode);
        this.progress.requests += failure.requests;
        if (failure.reaction !== 'awaitCredits') throw this.progress.failed(failure, await cleanUp());
        await this.parkForCredits(failure);
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
        const accepted = await this.submit(connector, deadline - Date.now());
        if (accepted.skipped) return 'skipped';
        const { report, callback } = accepted;
        return report.finished ? report : await this.awaitConversion(report.taskId, { callback });
      } catch (error) {
        if (isCancellation(error)) throw error;
        failure = this.readConvertFailure(error);
      }
      this.progress.requests += failure.requests;
      if (failure.reaction === 'outcomeUnknown' && failure.callback) {
        const proof = await this.awaitProof(failure);
        if (proof.report) return proof.report;
        failure = proof.failure;
      }
      if (failure.reaction === 'submitAfterLoss' && Date.now() >= deadline) throw this.progress.failed(failure);
      const next = await this.react(failure);
      if (failure.reaction === 'awaitCredits') deadline = this.creditsDeadline() + this.policies.submitTimeoutMs;
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
        if (this.parkedSince !== undefined && Date.now() >= this.creditsDeadline()) {
          throw this.progress.failed(this.outOfCredits(failure));
        }
        // From here on the submit itself asks again and again, which adds nothing to the history.
        this.park();
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
          throw this.progress.failed(
            failure,
            'Policy onUnknownOutcome is "fail": nothing was submitted again. Look at the service whether the conversion ran; start the job again with a new workflow id to convert.',
          );
        }
        if (this.resubmissions >= this.policies.maxResubmissions) throw this.progress.failed(failure);
        this.progress.possiblyChargedTwice = true;
        await this.pauseBeforeResubmission();
        return 'submitAgain';
      case 'fail':
        throw this.progress.failed(failure);
    }
  }

  private async pauseBeforeResubmission(): Promise<void> {
    this.progress.enter('submitting', 'Waits a moment before it submits the conversion again.');
    const { retryInitialIntervalMs, retryMaximumIntervalMs } = this.policies;
    await sleep(Math.min(retryInitialIntervalMs * 2 ** this.resubmissions, retryMaximumIntervalMs));
    this.resubmissions += 1;
  }

  private readConvertFailure(error: unknown): JobFailure {
    if (this.progress.phase === 'converting') return readFailure(error, failureCodes.conversionDeadline);
    const parked = this.progress.phase === 'awaitingCredits';
    const failure = readFailure(error, parked ? failureCodes.creditsDeadline : failureCodes.submitDeadline, {
      isSubmit: true,
    });
    return failure.code === failureCodes.creditsDeadline ? this.outOfCredits(failure) : failure;
  }

  /** Submits; while it is parked, as often as it takes, and at once when credits were restored. */
  private async submit(connector: string, deadlineMs: number): Promise<ConvertFileResult> {
    for (let askAtOnce = false; ; askAtOnce = true) {
      this.creditsRestored = false;
      const scope = new CancellationScope();
      const submitted = scope.run(() => this.submitOnce(connector, { deadlineMs, askAtOnce }));
      if (this.progress.phase !== 'awaitingCredits') return submitted;
      const settled = submitted.then(
        () => undefined,
        () => undefined,
      );
      const restored = condition(() => this.creditsRestored).catch(() => undefined);
      await Promise.race([settled, restored]);
      // Between two attempts it ends at once; an attempt under way is seen to its end.
      if (this.isRestored()) scope.cancel();
      try {
        return await submitted;
      } catch (error) {
        if (!isCancellation(error) || !this.isRestored() || CancellationScope.current().consideredCancelled)
          throw error;
      }
    }
  }

  private async submitOnce(
    connector: string,
    { deadlineMs, askAtOnce }: { deadlineMs: number; askAtOnce: boolean },
  ): Promise<ConvertFileResult> {
    const { parkedSince, creditsRestoredAt } = this;
    const parked = parkedSince !== undefined && this.progress.phase === 'awaitingCredits';
    if (!parked) this.progress.enter('submitting');
    const { app, output, input, destination } = this.input;
    const request = {
      app,
      connector,
      sourceName: this.name,
      output,
      ...(input !== undefined && { input }),
      ...(destination !== undefined && { destination }),
      onExisting: this.policies.onExisting,
      ...(parked && {
        parked: {
          since: parkedSince,
          until: this.creditsDeadline(),
          askAtOnce,
          ...(creditsRestoredAt !== undefined && { restoredAt: creditsRestoredAt }),
        },
      }),
      nonce: this.callbacks.next(),
    };
    const options = { summary: this.progress.summary, deadlineMs: Math.max(deadlineMs, this.policies.submitTimeoutMs) };
    const accepted = await this.activities.convertFile(request, options);
    if (!accepted.skipped) {
      this.progress.taskId = accepted.report.taskId;
      this.progress.requests += accepted.requests;
    }
    return accepted;
  }

  /**
   * A callback proves that the submit with the unknown outcome was executed, and names its task. Only what the service then says about that
   * task counts: one that it does not know leaves the outcome as unknown as it was.
   */
  private async awaitProof(
    failure: JobFailure,
  ): Promise<{ report: TaskReport } | { report?: undefined; failure: JobFailure }> {
    this.progress.enter(
      'submitting',
      'It is not known whether the conversion runs. Waits for the service to call back.',
    );
    const isExecuted = await this.callbacks.wait(this.policies.unknownOutcomeWaitMs);
    const { namedTask } = this.callbacks;
    const note = (text: string) => ({ failure: { ...failure, message: `${failure.message} ${text}` } });
    if (!isExecuted) return note('No callback came.');
    if (namedTask === undefined) return note('A callback came, so it was executed; which task it is, it does not say.');
    this.progress.taskId = namedTask;
    try {
      return { report: await this.awaitConversion(namedTask, { callback: true, fromCallback: true }) };
    } catch (error) {
      if (isCancellation(error)) throw error;
      const asked = readFailure(error, failureCodes.conversionDeadline);
      this.progress.requests += asked.requests;
      if (asked.reaction !== 'outcomeUnknown') return { failure: asked };
      this.progress.taskId = undefined;
      this.progress.enter('submitting');
      return note('A callback came, but the service does not know the task that it names.');
    }
  }

  /**
   * Polls by activity retries, which add nothing to the history. With a callback that is on its way the first poll waits for it, or for
   * `pollAfter`.
   */
  private async awaitConversion(
    taskId: string,
    { callback, fromCallback }: { callback: true | undefined; fromCallback?: true },
  ): Promise<TaskReport> {
    const submittedAt = Date.now();
    const { conversionDeadlineMs, pollAfterMs, firstCheckAfterMs } = this.policies;
    if (callback) {
      this.progress.enter('converting', 'Waits for the service to call back.');
      await this.callbacks.wait(Math.min(pollAfterMs, conversionDeadlineMs / 2));
    }
    this.progress.enter('converting', 'Waits for the service to finish the conversion.');
    const request = {
      app: this.input.app,
      taskId,
      sourceName: this.name,
      output: this.input.output,
      submittedAt,
      firstCheckAfterMs: callback ? 0 : firstCheckAfterMs,
      maxCheckIntervalMs: this.policies.maxCheckIntervalMs,
      ...(fromCallback && { fromCallback }),
    };
    const poll = () => {
      const deadlineMs = Math.max(conversionDeadlineMs - (Date.now() - submittedAt), 1);
      return this.activities.checkTask(request, { summary: `task ${taskId}`, deadlineMs });
    };
    const checked = callback ? await this.callbacks.race(poll) : await poll();
    this.progress.requests += checked.requests;
    return checked.report;
  }

  /** A durable wait for vCredits: growing rechecks, and at once on the signal. */
  private async parkForCredits(failure: JobFailure): Promise<void> {
    this.park();
    const leftMs = this.creditsDeadline() - Date.now();
    if (leftMs <= 0) throw this.progress.failed(this.outOfCredits(failure));
    const recheckMs = Math.min(firstCreditsRecheckMs * 2 ** this.creditChecks, maxCreditsRecheckMs, leftMs);
    this.creditChecks += 1;
    this.creditsRestored = false;
    await condition(() => this.creditsRestored, recheckMs);
  }

  /** A call, since control flow analysis takes a signal that has not come for one that never will. */
  private isRestored(): boolean {
    return this.creditsRestored;
  }

  private park(): void {
    this.parkedSince ??= Date.now();
    this.progress.enter(
      'awaitingCredits',
      `App \`${this.input.app}\` has too few vCredits. It asks again by itself; \`fileconv credits restored --app ${this.input.app}\` lets it go on at once.`,
    );
  }

  /** Milliseconds since the epoch. */
  private creditsDeadline(): number {
    return (this.parkedSince ?? Date.now()) + this.policies.creditsDeadlineMs;
  }

  private outOfCredits(failure: JobFailure): JobFailure {
    const message = `app ${this.input.app} has had too few vCredits for longer than the credits deadline. ${failure.message}`;
    return { ...failure, code: failureCodes.creditsDeadline, reaction: 'fail', message };
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
      () => this.activities.downloadFile(request, lastSegment(destination)),
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
    return {
      status,
      ...(report && { taskId: report.taskId, connector: report.connector }),
      ...(this.source && { source: this.source }),
      ...(report?.vcredits !== undefined && { vcredits: report.vcredits }),
      ...(report?.durationSeconds !== undefined && { durationSeconds: report.durationSeconds }),
      warnings: report?.warnings ?? {},
      requests: this.progress.requests,
      possiblyChargedTwice: this.progress.possiblyChargedTwice,
      phaseMs: this.progress.phaseMs,
    };
  }
}
