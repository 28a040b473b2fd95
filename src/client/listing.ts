import {
  Client,
  type ClientOptions,
  type WorkflowClientInterceptor,
  type WorkflowStartInput,
} from '@temporalio/client';
import type { ConversionBatchInput } from '../shared/batch';
import { jobSummary, type ConversionJobInput } from '../shared/job';
import { conversionBatchType, conversionJobType } from '../shared/names';
import {
  attributesOf,
  listingOptions,
  searchAttributeNames,
  startingAttributes,
  type Grouping,
} from '../shared/search-attributes';
import { batchDetails, batchSummary, jobDetails } from '../shared/temporal-ui';
import { presentSearchAttributes } from './operations/search-attributes';

/** Time until missing search attributes are looked up again. */
const incompleteForMs = 60_000;

/** Which search attributes jobs may be started with, since the server rejects a workflow with an unknown one. */
export class Listing {
  private lookup: { names: Promise<ReadonlySet<string>>; validUntil: number } | undefined;

  constructor(private readonly client: Client) {}

  /**
   * Looked up once, and again after a minute while some are missing. If the server does not tell, all are assumed to be
   * registered.
   */
  settable(): Promise<ReadonlySet<string>> {
    if (!this.lookup || this.lookup.validUntil < Date.now()) {
      const lookup = { names: presentSearchAttributes(this.client), validUntil: Infinity };
      this.lookup = lookup;
      lookup.names.then(
        ({ size }) => {
          if (size < searchAttributeNames.length) lookup.validUntil = Date.now() + incompleteForMs;
        },
        () => (lookup.validUntil = 0),
      );
    }
    return this.lookup.names.catch(() => new Set(searchAttributeNames));
  }
}

/** What a job is listed by, and named in the Temporal UI. */
export function shownJob(input: ConversionJobInput, grouping?: Grouping) {
  const attributes = startingAttributes(input, grouping);
  return { attributes, staticSummary: jobSummary(input), staticDetails: jobDetails(input) };
}

export function shownBatch(input: ConversionBatchInput, grouping: Grouping) {
  const attributes = attributesOf(input.app, grouping);
  return { attributes, staticSummary: batchSummary(input), staticDetails: batchDetails(input) };
}

type StartedWorkflow = WorkflowStartInput['options'];

/** Lists and names the jobs and batches that a client starts by their workflow type, as `FileConversionClient` does. */
export function listingInterceptor({ connection, namespace }: ClientOptions): WorkflowClientInterceptor {
  let listing: Listing | undefined;
  const listed = async (type: string, options: StartedWorkflow): Promise<StartedWorkflow> => {
    // Set by FileConversionClient, or by somebody who knows better.
    if (options.typedSearchAttributes || 'searchAttributes' in options) return options;
    const shown = shownAs(type, options);
    if (!shown) return options;
    listing ??= new Listing(new Client({ ...(connection && { connection }), ...(namespace && { namespace }) }));
    const { attributes, ...texts } = shown;
    return { ...texts, ...options, ...listingOptions(attributes, await listing.settable()) };
  };
  return {
    startWithDetails: async (input, next) =>
      next({ ...input, options: await listed(input.workflowType, input.options) }),
    signalWithStart: async (input, next) =>
      next({ ...input, options: await listed(input.workflowType, input.options) }),
    startUpdateWithStart: async (input, next) =>
      next({ ...input, workflowStartOptions: await listed(input.workflowType, input.workflowStartOptions) }),
  };
}

/** Undefined for other workflows, and for an input that the workflow is going to refuse. */
function shownAs(type: string, { args: [input], workflowId }: StartedWorkflow) {
  try {
    if (type === conversionJobType) return shownJob(input as ConversionJobInput);
    if (type === conversionBatchType) return shownBatch(input as ConversionBatchInput, { batchId: workflowId });
  } catch {
    return undefined;
  }
  return undefined;
}
