import { WorkflowExecutionAlreadyStartedError, type Client } from '@temporalio/client';
import { hidesPayloads } from '../encryption/data-converter';
import { jobSummary, type ConversionJobResult } from '../shared/job';
import { conversionBatchType, conversionJobType, defaultTaskQueue } from '../shared/names';
import { batchAttributes, listingOptions, searchAttributeNames, startingAttributes } from '../shared/search-attributes';
import { batchDetails, jobDetails } from '../shared/temporal-ui';
import { BatchHandle, BatchRunningError } from './batch-handle';
import { toBatchInput, type BatchRequest } from './batch-request';
import { ConversionHandle } from './conversion-handle';
import { newWorkflowId, toJobInput, type ConversionRequest } from './job-request';
import { presentSearchAttributes } from './operations/search-attributes';

export interface FileConversionClientOptions {
  client: Client;
  /** Default: `file-conversion`. */
  taskQueue?: string;
  /** App profile of requests that name none. Default: `embedded`. */
  app?: string;
}

export interface StartOptions {
  /** Default: a new id with the source's name, or a random one when the client encrypts payloads. */
  workflowId?: string;
  /** Whether a job that has ended counts as one that is running: its id is not used again. Default: false. */
  once?: boolean;
  /** The batch that the job is listed with. */
  batchId?: string;
}

/** Time until missing search attributes are looked up again. */
const incompleteForMs = 60_000;

/** Starts conversion jobs and batches, and returns handles to them. */
export class FileConversionClient {
  private readonly client: Client;
  private readonly taskQueue: string;
  private readonly app: string;
  private listing: { attributes: Promise<ReadonlySet<string>>; validUntil: number } | undefined;

  constructor(options: FileConversionClientOptions) {
    this.client = options.client;
    this.taskQueue = options.taskQueue ?? defaultTaskQueue;
    this.app = options.app ?? 'embedded';
  }

  /**
   * Starts a job and waits for it.
   * @throws InvalidRequestError, ConversionFailedError
   */
  async convert(request: ConversionRequest, options: StartOptions = {}): Promise<ConversionJobResult> {
    const handle = await this.start(request, options);
    return handle.result();
  }

  /**
   * Starts a job and returns at once. The job needs no client to finish.
   * @throws InvalidRequestError; WorkflowExecutionAlreadyStartedError when a job with this id is running, or with `once` when there was one.
   */
  async start(request: ConversionRequest, options: StartOptions = {}): Promise<ConversionHandle> {
    const input = toJobInput(request, this.app);
    const listing = listingOptions(startingAttributes(input, options), await this.settableAttributes());
    const isHidden = hidesPayloads(this.client.options.loadedDataConverter);
    const workflow = await this.client.workflow.start(conversionJobType, {
      workflowId: options.workflowId ?? newWorkflowId(input.source, { isHidden }),
      taskQueue: this.taskQueue,
      args: [input],
      ...(options.once && { workflowIdReusePolicy: 'REJECT_DUPLICATE' as const }),
      staticSummary: jobSummary(input),
      staticDetails: jobDetails(input),
      ...listing,
    });
    return new ConversionHandle(workflow);
  }

  /**
   * Starts a batch, again if it has ended, and returns at once. Results that still exist are not converted twice.
   * @throws InvalidRequestError, BatchRunningError
   */
  async startBatch(request: BatchRequest): Promise<BatchHandle> {
    const input = toBatchInput(request, this.app);
    const { name } = request;
    try {
      const workflow = await this.client.workflow.start(conversionBatchType, {
        workflowId: name,
        taskQueue: this.taskQueue,
        args: [input],
        staticSummary: `${input.items} items`,
        staticDetails: batchDetails(input),
        ...listingOptions(batchAttributes(input.app, name), await this.settableAttributes()),
      });
      return new BatchHandle(workflow);
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) throw new BatchRunningError(name, { cause: error });
      throw error;
    }
  }

  /** The batch with this name; no request is sent before a method of it is called. */
  getBatch(name: string): BatchHandle {
    return new BatchHandle(this.client.workflow.getHandle(name));
  }

  /**
   * The namespace's attributes, since the server rejects a workflow with an unknown one. Looked up once, and again
   * after a minute while some are missing. If the server does not tell, all are assumed to be registered.
   */
  private settableAttributes(): Promise<ReadonlySet<string>> {
    if (!this.listing || this.listing.validUntil < Date.now()) {
      const listing = { attributes: presentSearchAttributes(this.client), validUntil: Infinity };
      this.listing = listing;
      listing.attributes.then(
        ({ size }) => {
          if (size < searchAttributeNames.length) listing.validUntil = Date.now() + incompleteForMs;
        },
        () => (listing.validUntil = 0),
      );
    }
    return this.listing.attributes.catch(() => new Set(searchAttributeNames));
  }

  /** The job with this id; no request is sent before a method of it is called. */
  get(workflowId: string): ConversionHandle {
    return new ConversionHandle(this.client.workflow.getHandle(workflowId));
  }
}
