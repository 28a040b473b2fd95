import type { ConversionPolicies } from '../shared/policies';
import { createJobActivities, type JobActivities } from './job/job-activities';
import { OrderedWaits } from './job/ordered-waits';
import { resolveChosen } from './job/policies';

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
  return createJobActivities(resolved, new OrderedWaits({ longestMs: resolved.creditsDeadlineMs }));
}
