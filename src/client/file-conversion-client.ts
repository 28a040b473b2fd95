import { isDeepStrictEqual } from 'node:util';
import { WorkflowExecutionAlreadyStartedError, type Client } from '@temporalio/client';
import { z } from 'zod';
import type { PlannedBatch } from '../batch/plan/planned-batch';
import { hidesPayloads } from '../encryption/data-converter';
import { findWorkflow, firstRunOf, readStartInput } from '../history/find-workflow';
import { isSameJob } from '../recall/recall-job';
import { readRunning } from '../recall/running-job';
import type { ConversionBatchInput } from '../batch/model/types';
import type { ConversionJobResult, Recall } from '../job/types';
import { jobIdOf, numberedDestination } from '../job/job-id';
import { defaultPolicies } from '../job/policies';
import { shellWord } from '../messages/wording';
import type { JobInspection } from './operations/inspect-job';
import type { Retry } from './operations/retry-job';
import { isOpen } from '../job/job-outcome';
import { conversionBatchType, conversionJobType, defaultTaskQueue } from '../job/names';
import { defined } from '../job/defined';
import { createHttpsFiles } from '../storage/https/index';
import { createLocalFiles } from '../storage/local-files';
import { Stores, type StoresByScheme } from '../storage/stores';
import type { FileStore } from '../storage/file-store';
import { BatchHandle, BatchRunningError } from './batch-handle';
import { planRequested, toBatchInput, type BatchRequest } from './batch-request';
import { ConversionHandle } from './conversion-handle';
import { checkRequest, InvalidRequestError, newWorkflowId, toJobInput, type ConversionRequest } from './job-request';
import { Listing, shownBatch, shownJob } from './listing';
import { toWorkflowOptions, type BatchStartOptions, type StartOptions } from './start-options';

export interface FileConversionClientOptions {
  client: Client;
  /** Default: `file-conversion`. */
  taskQueue?: string;
  /** App profile of requests that name none. Default: `embedded`. */
  app?: string;
  /** Stores for planning batches and reading their results, by URI scheme, in addition to `file:` and `https:`. */
  stores?: StoresByScheme;
}

interface StartOf<Input> {
  workflowId: string;
  input: Input;
  shown: ReturnType<typeof shownJob>;
  options: StartOptions & BatchStartOptions;
}

export interface JobStartOptions extends StartOptions {
  /** Converts even if an earlier submit may have been charged and has no task to fetch. Default: as the policy says. */
  resubmit?: boolean;
  /** Converts again whatever earlier jobs did. Default: false. */
  again?: boolean;
}

type RetriedJob = Pick<JobInspection, 'workflowId' | 'batchId' | 'tags'>;

/** A different job is running under the same id. */
export class JobRunningError extends Error {
  override readonly name = 'JobRunningError';
  constructor(
    readonly code: 'SOURCE_CHANGED' | 'DESTINATION_TAKEN',
    readonly workflowId: string,
  ) {
    const id = shellWord(workflowId);
    const why =
      code === 'SOURCE_CHANGED'
        ? `the file has changed since job ${workflowId} uploaded it, and that job still runs`
        : `job ${workflowId} is converting something else to this destination`;
    super(`${why}. Wait for it (fileconv job watch ${id}) or end it (fileconv job cancel ${id}), then convert again`);
  }
}

/** Starts conversion jobs and batches, and returns handles to them. */
export class FileConversionClient {
  private readonly client: Client;
  private readonly taskQueue: string;
  private readonly app: string;
  private readonly listing: Listing;
  private readonly files: FileStore;

  constructor(options: FileConversionClientOptions) {
    this.client = options.client;
    this.listing = new Listing(options.client);
    this.taskQueue = options.taskQueue ?? defaultTaskQueue;
    this.app = options.app ?? 'embedded';
    this.files = new Stores({ file: createLocalFiles(), https: () => createHttpsFiles(), ...options.stores });
  }

  /**
   * Starts a job and waits for it.
   * @throws InvalidRequestError, ConversionFailedError
   */
  async convert(request: ConversionRequest, options: JobStartOptions = {}): Promise<ConversionJobResult> {
    return (await this.start(request, options)).result();
  }

  /**
   * Starts a job and returns at once. The job needs no client to finish.
   *
   * A job with a destination is named by it unless an id is given. If the same conversion is already running, returns its handle; the
   * outcome of a finished job decides what the new one does: see docs/repetition.md.
   * @throws InvalidRequestError; JobRunningError if another job runs under the id, or if the file has changed since.
   */
  async start(request: ConversionRequest, options: JobStartOptions = {}): Promise<ConversionHandle> {
    const { resubmit, again } = options;
    const { args, ...start } = await this.jobStart(request, options);
    const [input] = args;
    const { destination, onExisting, policies: { onUnknownOutcome = defaultPolicies.onUnknownOutcome } = {} } = input;
    const rules = { onUnknownOutcome: resubmit ? ('resubmit' as const) : onUnknownOutcome, isSingle: true as const };
    let { workflowId } = start;
    let asked = input;
    let recall: Recall | undefined;
    for (let number = 1; ;) {
      try {
        const started = await this.client.workflow.start(conversionJobType, {
          ...start,
          workflowId,
          args: [recall ? { ...asked, recall } : asked],
          workflowIdConflictPolicy: 'FAIL',
          workflowIdReusePolicy: recall ? 'ALLOW_DUPLICATE' : 'REJECT_DUPLICATE',
        });
        return new ConversionHandle(started);
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      }
      const found = await this.findOf(conversionJobType, workflowId);
      if (!found || !isOpen(found)) {
        recall = found && { runId: found.runId, ...rules, ...(again && { again }) };
        continue;
      }
      const running = await readRunning({ client: this.client, files: this.files }, found);
      if (isSameJob(running.input, asked)) {
        if (running.isChanged) throw new JobRunningError('SOURCE_CHANGED', workflowId);
        const run = defined({ firstExecutionRunId: firstRunOf(found) });
        return new ConversionHandle(this.client.workflow.getHandle(workflowId, undefined, run), { isAttached: true });
      }
      if (onExisting !== 'rename' || options.workflowId !== undefined || destination === undefined) {
        throw new JobRunningError('DESTINATION_TAKEN', workflowId);
      }
      number += 1;
      recall = undefined;
      workflowId = jobIdOf(destination, { isHidden: this.isHidden, number });
      asked = { ...input, destination: numberedDestination(destination, number) };
    }
  }

  /** Starts another run of a job that has ended, as planned by `planRetry`. */
  async retry({ workflowId, batchId, tags }: RetriedJob, { input }: Retry): Promise<ConversionHandle> {
    const options = defined({ batchId, tags });
    const start = await this.startOptions(conversionJobType, {
      workflowId,
      input,
      shown: shownJob(input, options),
      options,
    });
    return new ConversionHandle(await this.client.workflow.start(conversionJobType, start));
  }

  /**
   * Returns what a batch would do: new and changed files, and problems. Writes nothing, and needs no worker.
   * @throws InvalidRequestError; RunFileError
   */
  async planBatch(request: BatchRequest, { signal }: { signal?: AbortSignal } = {}): Promise<PlannedBatch> {
    return planRequested(this.files, request, { app: this.app, signal });
  }

  /**
   * Starts a batch, or starts it again if it has ended, and returns at once. It converts `sources` or a `manifest`, which it plans
   * first, or at most 500 `items`. Files whose results were delivered before are not converted again. A refused plan fails the batch.
   * @throws InvalidRequestError, BatchRunningError
   */
  async startBatch(request: BatchRequest, options: BatchStartOptions = {}): Promise<BatchHandle> {
    checkRequest(z.looseObject({}), request, "This batch can't be started.");
    return this.startBatchOf(await this.batchStart(request, options));
  }

  /** Starts a batch from the workflow's input, for commands that know which files the workers see. @throws as `startBatch` */
  async startPlanned(name: string, input: ConversionBatchInput, options: BatchStartOptions = {}): Promise<BatchHandle> {
    return this.startBatchOf(await this.batchOptions(name, input, options));
  }

  private async startBatchOf(start: Awaited<ReturnType<FileConversionClient['batchOptions']>>): Promise<BatchHandle> {
    const { workflowId, args, workflowIdConflictPolicy } = start;
    const [{ items }] = args;
    try {
      const workflow = await this.client.workflow.start(conversionBatchType, start);
      if (items && workflowIdConflictPolicy === 'USE_EXISTING') {
        // Results of inline items are told by their numbers.
        const run = { workflowId, runId: workflow.firstExecutionRunId };
        const running = (await readStartInput(this.client.workflow, run)) as ConversionBatchInput;
        if (!isDeepStrictEqual(running.items, items)) throw new BatchRunningError(workflowId);
      }
      return new BatchHandle(workflow, this.files);
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      throw new BatchRunningError(workflowId, { cause: error });
    }
  }

  /**
   * Returns the options with which `start` starts a job, for other ways to start it, such as a Nexus operation.
   * @throws InvalidRequestError
   */
  async jobStart(request: ConversionRequest, options: StartOptions = {}) {
    const input = toJobInput(request, this.app);
    const { source, destination } = input;
    const { isHidden } = this;
    const {
      workflowId = destination === undefined ? newWorkflowId(source, { isHidden }) : jobIdOf(destination, { isHidden }),
    } = options;
    return this.startOptions(conversionJobType, { workflowId, input, shown: shownJob(input, options), options });
  }

  /**
   * Like `jobStart`, for a batch.
   * @throws InvalidRequestError
   */
  async batchStart(request: BatchRequest, options: BatchStartOptions = {}) {
    return this.batchOptions(request.name, toBatchInput(request, this.app), options);
  }

  private async batchOptions(workflowId: string, input: ConversionBatchInput, options: BatchStartOptions) {
    const shown = shownBatch(input, { batchId: workflowId, tags: options.tags });
    return this.startOptions(conversionBatchType, { workflowId, input, shown, options });
  }

  private get isHidden(): boolean {
    return hidesPayloads(this.client.options.loadedDataConverter);
  }

  private async startOptions<Input extends { app: string }>(
    type: string,
    { workflowId, input, shown, options }: StartOf<Input>,
  ) {
    if (options.onRunning === 'attach') await this.findOf(type, workflowId);
    const { attributes, ...texts } = shown;
    const { taskQueue } = this;
    const started = { type, app: input.app, attributes, isListed: await this.listing.isListed() };
    const args: [Input] = [input];
    return { workflowId, taskQueue, ...texts, ...toWorkflowOptions(options, started), args };
  }

  /** Rejects an id in use by another type of workflow, whose result must not be taken for the caller's. */
  private async findOf(type: string, workflowId: string) {
    const found = await findWorkflow(this.client, workflowId);
    if (!found || !isOpen(found) || found.type === type) return found;
    throw new InvalidRequestError(`workflowId: ${workflowId} is that of a running ${found.type}.`);
  }

  /** Sends no request until a method is called. */
  getBatch(name: string): BatchHandle {
    return new BatchHandle(this.client.workflow.getHandle(name), this.files);
  }

  /** Sends no request until a method is called. */
  get(workflowId: string): ConversionHandle {
    return new ConversionHandle(this.client.workflow.getHandle(workflowId));
  }
}
