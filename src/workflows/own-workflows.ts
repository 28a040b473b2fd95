import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { ApplicationFailure, WorkflowIdReusePolicy, executeChild } from '@temporalio/workflow';
import { defined } from '../job/defined';
import { jobIdOf } from '../job/job-id';
import { conversionJobType } from '../job/names';
import { type ConversionJobInput, type ConversionJobResult, jobSummary, type Recall } from '../job/types';
import { startingAttributes } from '../job/search-attributes';
import { jobDetails } from '../job/temporal-ui';
import { fileSteps, waitSteps } from './batch/batch-activities';
import { takenBy } from './batch/item-job';
import type { conversionJob } from './job/conversion-job';
import { resolvePolicies } from './job/policies';

interface ChildListing {
  /** Set to false if the namespace lacks the search attributes (`fileconv namespace init`), or your workflow blocks. Default: true. */
  isListed?: boolean;
}

/**
 * Runs a job from your own workflow and returns its result. The job is named by its destination, like every other, so only one job at a
 * time makes a given result. If your workflow is retried, reset or run again, the new job continues from the last one and nothing is
 * paid for twice (docs/repetition.md).
 *
 * @param options.workflowId default: as above. Without a destination, a new id, which has no earlier job.
 * @throws ChildWorkflowFailure; ApplicationFailure `DESTINATION_TAKEN` while a job writes something else there, `INVALID_JOB` if the input
 *   is invalid
 */
export async function executeConversion(
  input: ConversionJobInput,
  { workflowId, isListed }: ChildListing & { workflowId?: string } = {},
): Promise<ConversionJobResult> {
  const { onUnknownOutcome } = resolvePolicies(input);
  const id = workflowId ?? (await idOf(input));
  let recall: Recall | undefined;
  for (;;) {
    try {
      return await executeChild<typeof conversionJob>(conversionJobType, {
        ...conversionChildOptions(recall ? { ...input, recall } : input, defined({ isListed })),
        ...defined({ workflowId: id }),
        workflowIdReusePolicy: recall ? WorkflowIdReusePolicy.ALLOW_DUPLICATE : WorkflowIdReusePolicy.REJECT_DUPLICATE,
      });
    } catch (error) {
      if (id === undefined || !(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
    const runId = await endOfLast(id, input);
    recall = runId === undefined ? undefined : { runId, onUnknownOutcome, isSingle: true };
  }
}

async function idOf({ source, destination }: ConversionJobInput): Promise<string | undefined> {
  if (destination === undefined) return undefined;
  const { hidesNames } = await fileSteps['conversion.workerSettings']({});
  return jobIdOf({ source, destination }, { isHidden: hidesNames });
}

/** The last run under this id, once it has ended; undefined when Temporal no longer knows it. */
async function endOfLast(workflowId: string, expected: ConversionJobInput): Promise<string | undefined> {
  const [found] = (await waitSteps['conversion.awaitJobs']({ jobs: [{ workflowId, expected }] })).seen;
  // An outcome here means that the job is unreadable, or that another workflow is running under its id.
  if (found?.outcome) throw ApplicationFailure.nonRetryable(found.outcome.message, found.outcome.code);
  if (found?.runId === undefined || !found.existing?.isOpen) return found?.runId;
  if (!found.existing.isSame) {
    const { code, message } = takenBy(workflowId, found.existing.source);
    throw ApplicationFailure.nonRetryable(message, code);
  }
  const [ended] = (await waitSteps['conversion.awaitJobs']({ jobs: [{ workflowId, runId: found.runId }] })).seen;
  return ended?.runId;
}

/**
 * For a job that ignores earlier ones: `executeChild(conversionJob, { ...conversionChildOptions(input), taskQueue })`. It is listed
 * like any other (`fileconv job list`) and named in the Temporal UI.
 */
export function conversionChildOptions(input: ConversionJobInput, { isListed = true }: ChildListing = {}) {
  return {
    args: [input] as [ConversionJobInput],
    staticSummary: jobSummary(input),
    staticDetails: jobDetails(input),
    ...(isListed && { typedSearchAttributes: startingAttributes(input) }),
  };
}
