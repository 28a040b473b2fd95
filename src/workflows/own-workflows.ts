import { type ConversionJobInput, jobSummary } from '../shared/job';
import type { ConversionPolicies } from '../shared/policies';
import { startingAttributes } from '../shared/search-attributes';
import { jobDetails } from '../shared/temporal-ui';
import { createJobActivities, OrderedWaits, type JobActivities } from './job/job-activities';
import { resolveChosen } from './job/policies';

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

/**
 * The steps of a job for a workflow of your own that composes them otherwise, with the time-outs and retries of the
 * policies. A wait that the service orders is slept out. A step fails with an `ActivityFailure` whose cause has the code as
 * its type and `ActivityFailureDetails` as its first detail. A submit with reaction `outcomeUnknown` may have run: to
 * repeat it can cost twice. `conversionJob` decides all of that for you.
 *
 * @throws ApplicationFailure of type `INVALID_JOB` that names the policy.
 */
export function conversionSteps(policies?: ConversionPolicies): JobActivities {
  const resolved = resolveChosen(policies);
  return createJobActivities(resolved, new OrderedWaits(resolved.parkedDeadlineMs));
}
