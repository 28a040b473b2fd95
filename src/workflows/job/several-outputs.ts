import {
  ApplicationFailure,
  CancellationScope,
  ChildWorkflowFailure,
  ParentClosePolicy,
  executeChild,
  workflowInfo,
} from '@temporalio/workflow';
import type { EarlierRuns } from '../../shared/charge';
import { defined } from '../../shared/defined';
import {
  jobSummary,
  outputJobId,
  type ConversionFailureDetails,
  type ConversionJobInput,
  type ConversionJobResult,
  type ConversionOutput,
  type OutputResult,
} from '../../shared/job';
import { outcomeOfFailure, outcomeOfResult, outputResult } from '../../shared/job-outcome';
import { conversionJobType } from '../../shared/names';
import {
  listingOptions,
  searchAttributes,
  settableAttributes,
  startingAttributes,
} from '../../shared/search-attributes';
import { jobDetails, workflowPath } from '../../shared/temporal-ui';
import type { JobFailure } from './job-failure';
import type { JobParts } from './job-parts';
import { wasReset } from './job-progress';
import type { SourceUpload, Uploaded } from './upload-source';

/** An upload this old has expired: that another one is needed is no sign of a service that loses them. */
const longLivedMs = 3_600_000;

interface OutputTurn {
  output: ConversionOutput;
  workflowId: string;
  connector: string;
  earlier: EarlierRuns | undefined;
}

/** Converts one upload to several formats. Each is a job of its own, with its own task, charge, waits and result. */
export class SeveralOutputs {
  readonly results: OutputResult[];
  private uploads = 0;
  private uploadedAt = 0;
  private uploaded: Promise<Uploaded | 'skipped'> | undefined;

  constructor(
    private readonly job: JobParts,
    private readonly upload: SourceUpload,
    private readonly outputs: readonly ConversionOutput[],
  ) {
    const { workflowId } = workflowInfo();
    this.results = outputs.map((output, index) => {
      const charge = afterReset(output.earlier)?.charge ?? 'no';
      return (
        output.done ?? outputResult(output, outputJobId(workflowId, outputs, index), { status: 'running', charge })
      );
    });
  }

  /** Waits for all of them, also when one fails. @throws when the upload fails, or the job is cancelled. */
  async run(): Promise<void> {
    if (this.outputs.every(({ earlier, done }) => (done ?? earlier?.taskId) !== undefined)) this.tell();
    const ends = await Promise.allSettled(
      this.outputs.map(async (output, index) => {
        if (!output.done) await this.convert(output, index);
      }),
    );
    const broken = ends.find((end) => end.status === 'rejected');
    if (broken) throw broken.reason;
  }

  private async convert(output: ConversionOutput, index: number): Promise<void> {
    const workflowId = this.results[index]?.workflowId ?? '';
    let { earlier } = output;
    // An accepted task is fetched before anything is uploaded.
    let connector = earlier?.taskId;
    let requests = 0;
    for (let used = 0; ;) {
      if (connector === undefined) {
        const uploaded = await this.uploadAfter(used);
        used = this.uploads;
        if (uploaded === 'skipped') {
          this.end(index, outputResult(output, workflowId, { status: 'skipped', charge: 'no' }));
          return;
        }
        ({ connector } = uploaded);
      }
      // What its job is charged is not known before it ends.
      this.results[index] = outputResult(output, workflowId, { status: 'running' });
      const { result, left } = await this.runJob({ output, workflowId, connector, earlier });
      requests += result.requests ?? 0;
      if (!left || !this.canUploadAfter(used)) {
        this.end(index, { ...result, requests });
        return;
      }
      earlier = left;
      this.results[index] = outputResult(output, workflowId, { ...left, status: 'running' });
      connector = undefined;
    }
  }

  /** `left` by a job that failed because the service no longer has the upload. */
  private async runJob(turn: OutputTurn): Promise<{ result: OutputResult; left?: EarlierRuns }> {
    const { output, workflowId } = turn;
    const input = this.inputOf(turn);
    const { typedSearchAttributes: own } = workflowInfo();
    const batchId = own.get(searchAttributes.batchId);
    const grouping = { tags: own.get(searchAttributes.tags), ...(batchId !== undefined && { batchId }) };
    try {
      const ended = await executeChild<(input: ConversionJobInput) => Promise<ConversionJobResult>>(conversionJobType, {
        workflowId,
        args: [input],
        parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
        staticSummary: jobSummary(input),
        staticDetails: jobDetails(input),
        ...listingOptions(startingAttributes(input, grouping), settableAttributes(workflowInfo())),
      });
      return { result: outputResult(output, workflowId, outcomeOfResult(ended)) };
    } catch (error) {
      if (CancellationScope.current().consideredCancelled) throw error;
      const cause = error instanceof ChildWorkflowFailure ? error.cause : error;
      const result = outputResult(output, workflowId, outcomeOfFailure(cause));
      const details: Partial<ConversionFailureDetails> =
        cause instanceof ApplicationFailure ? (cause.details?.[0] ?? {}) : {};
      if (details.needsUpload !== true) return { result };
      const { charge = 'maybe', possiblyChargedTwice } = details;
      return { result, left: { charge, ...(possiblyChargedTwice && { possiblyChargedTwice }) } };
    }
  }

  private inputOf({ output: asked, connector, earlier: known }: OutputTurn): ConversionJobInput {
    const { name } = this.job;
    const { app, input, onExisting, mode, policies } = this.job.input;
    const { output, parameters, destination } = asked;
    const earlier = afterReset(known);
    const source = { connector, name };
    return defined({ app, source, output, input, parameters, destination, onExisting, mode, earlier, policies });
  }

  /** The upload that comes after those an output has used: one for all that need it. */
  private uploadAfter(used: number): Promise<Uploaded | 'skipped'> {
    if (this.uploaded && used < this.uploads) return this.uploaded;
    this.uploads += 1;
    this.uploadedAt = Date.now();
    this.uploaded = this.upload.run().then((uploaded) => {
      this.tell();
      return uploaded;
    });
    return this.uploaded;
  }

  private canUploadAfter(used: number): boolean {
    if (Date.now() - this.uploadedAt > longLivedMs) this.upload.forgive();
    return used < this.uploads || this.upload.isRepeatable;
  }

  private end(index: number, result: OutputResult): void {
    this.results[index] = result;
    // Not while it uploads again, or parks for that.
    if (this.job.progress.phase === 'converting') this.tell();
  }

  /** Shown in the Temporal UI. */
  private tell(): void {
    const { namespace } = workflowInfo();
    const lines = this.results.map(
      ({ format, workflowId, status }) => `- [${format}](${workflowPath(namespace, workflowId)}): ${status}`,
    );
    this.job.progress.enter('converting', `Waits for its outputs:\n\n${lines.join('\n')}`);
  }
}

/** Before a reset the output's job may have submitted. */
function afterReset(earlier: EarlierRuns | undefined): EarlierRuns | undefined {
  return wasReset() && (earlier?.charge ?? 'no') === 'no' ? { ...earlier, charge: 'maybe' } : earlier;
}

/** The failure of a job of which some outputs failed; undefined: none. */
export function failureOf(results: readonly OutputResult[]): JobFailure | undefined {
  const failed = results.filter(({ status }) => status === 'failed' || status === 'cancelled');
  const [first] = failed;
  if (!first) return undefined;
  const [rest, all] = [results.length - failed.length, results.length];
  const reasons = failed.map(({ format, code, message }) => `${format}: ${message ?? code ?? 'it failed'}`);
  const message = `${rest} of ${all} outputs are there. ${reasons.join(' ')}`;
  return { code: first.code ?? 'FAILED', message, reaction: 'fail', origin: 'worker', requests: 0 };
}

export function sum(results: readonly OutputResult[], amount: (result: OutputResult) => number | undefined): number {
  return results.reduce((total, result) => total + (amount(result) ?? 0), 0);
}
