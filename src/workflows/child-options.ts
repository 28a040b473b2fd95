import type { ConversionJobInput } from '../shared/job';
import { jobSummary } from '../shared/job';
import { startingAttributes } from '../shared/search-attributes';
import { jobDetails } from '../shared/static-details';

/**
 * What a workflow of yours starts a job with: `executeChild(conversionJob, { ...conversionChildOptions(input), workflowId })`. The job is then listed
 * as every other (`fileconv job list`, `job count`), and named in the Temporal UI.
 *
 * `isListed: false` where the namespace lacks the search attributes (`fileconv namespace init`): your workflow would wait until it has them.
 */
export function conversionChildOptions(input: ConversionJobInput, { isListed = true }: { isListed?: boolean } = {}) {
  return {
    args: [input] as [ConversionJobInput],
    staticSummary: jobSummary(input),
    staticDetails: jobDetails(input),
    ...(isListed && { typedSearchAttributes: startingAttributes(input) }),
  };
}
