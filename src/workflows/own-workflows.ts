import { type ConversionJobInput, jobSummary } from '../job/types';
import { startingAttributes } from '../job/search-attributes';
import { jobDetails } from '../job/temporal-ui';

/**
 * Starts a job from your own workflow: `executeChild(conversionJob, { ...conversionChildOptions(input), workflowId })`.
 * The job is listed like any other (`fileconv job list`) and named in the Temporal UI.
 *
 * Set `isListed` (default true) to false in a namespace without the search attributes (`fileconv namespace init`): your
 * workflow would wait for them.
 */
export function conversionChildOptions(input: ConversionJobInput, { isListed = true }: { isListed?: boolean } = {}) {
  return {
    args: [input] as [ConversionJobInput],
    staticSummary: jobSummary(input),
    staticDetails: jobDetails(input),
    ...(isListed && { typedSearchAttributes: startingAttributes(input) }),
  };
}
