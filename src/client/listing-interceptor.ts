import {
  Client,
  type ClientOptions,
  type WorkflowClientInterceptor,
  type WorkflowStartInput,
} from '@temporalio/client';
import { jobSummary, type ConversionJobInput } from '../shared/job';
import { conversionBatchType, conversionJobType } from '../shared/names';
import { attributesOf, listingOptions, startingAttributes } from '../shared/search-attributes';
import { batchDetails, jobDetails } from '../shared/temporal-ui';
import { countItems, type ConversionBatchInput } from '../shared/batch';
import { Listing } from './listing';

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
    const { memo, typedSearchAttributes } = listingOptions(attributes, await listing.settable());
    return {
      ...texts,
      ...options,
      ...(typedSearchAttributes && { typedSearchAttributes }),
      ...(memo && { memo: { ...options.memo, ...memo } }),
    };
  };
  return {
    startWithDetails: async (input, next) =>
      next({ ...input, options: await listed(input.workflowType, input.options) }),
    signalWithStart: async (input, next) =>
      next({ ...input, options: await listed(input.workflowType, input.options) }),
    startUpdateWithStart: async (input, next) =>
      next({
        ...input,
        workflowStartOptions: await listed(input.workflowType, input.workflowStartOptions),
      }),
  };
}

/** Undefined for other workflows, and for an input that the workflow is going to refuse. */
function shownAs(type: string, { args, workflowId }: StartedWorkflow) {
  try {
    if (type === conversionJobType) {
      const input = args[0] as ConversionJobInput;
      const attributes = startingAttributes(input);
      return { attributes, staticSummary: jobSummary(input), staticDetails: jobDetails(input) };
    }
    if (type === conversionBatchType) {
      const input = args[0] as ConversionBatchInput;
      const attributes = attributesOf(input.app, { batchId: workflowId });
      return { attributes, staticSummary: `${countItems(input)} items`, staticDetails: batchDetails(input) };
    }
  } catch {
    return undefined;
  }
  return undefined;
}
