import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { ApplicationFailure, WorkflowIdReusePolicy, executeChild } from '@temporalio/workflow';
import { defined } from '../job/defined';
import { jobIdOf, numberedDestination } from '../job/job-id';
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
 * @throws ChildWorkflowFailure; ApplicationFailure `DESTINATION_TAKEN` while a job writes something else there, unless `onExisting` is
 *   `rename`; `INVALID_JOB` if the input is invalid
 */
export async function executeConversion(
  input: ConversionJobInput,
  { workflowId, isListed }: ChildListing & { workflowId?: string } = {},
): Promise<ConversionJobResult> {
  const { onUnknownOutcome, onExisting } = resolvePolicies(input);
  let number = 1;
  let { id, asked } = workflowId === undefined ? await placed(input, number) : { id: workflowId, asked: input };
  let recall: Recall | undefined;
  for (;;) {
    try {
      return await executeChild<typeof conversionJob>(conversionJobType, {
        ...conversionChildOptions(recall ? { ...asked, recall } : asked, defined({ isListed })),
        ...defined({ workflowId: id }),
        workflowIdReusePolicy: recall ? WorkflowIdReusePolicy.ALLOW_DUPLICATE : WorkflowIdReusePolicy.REJECT_DUPLICATE,
      });
    } catch (error) {
      if (id === undefined || !(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
    const { runId, taken } = await endOfLast(id, asked);
    recall = runId === undefined ? undefined : { runId, onUnknownOutcome, isSingle: true };
    if (!taken) continue;
    if (onExisting !== 'rename' || workflowId !== undefined) throw taken;
    number += 1;
    ({ id, asked } = await placed(input, number));
  }
}

async function placed(input: ConversionJobInput, number: number): Promise<{ id?: string; asked: ConversionJobInput }> {
  const { source, output, destination } = input;
  if (destination === undefined) return { asked: input };
  const job = { source, output, destination };
  const { hidesNames, resultUri = destination } = await fileSteps['conversion.workerSettings']({ job });
  const id = jobIdOf(resultUri, { isHidden: hidesNames, number });
  return { id, asked: { ...input, destination: numberedDestination(resultUri, number) } };
}

/** The last run under this id, once it has ended, if Temporal still knows it; or that a job makes something else there. */
async function endOfLast(
  workflowId: string,
  expected: ConversionJobInput,
): Promise<{ runId?: string | undefined; taken?: ApplicationFailure }> {
  const [found] = (await waitSteps['conversion.awaitJobs']({ jobs: [{ workflowId, expected }] })).seen;
  // An outcome here means that the job is unreadable, or that another workflow is running under its id.
  if (found?.outcome) throw ApplicationFailure.nonRetryable(found.outcome.message, found.outcome.code);
  if (found?.runId === undefined || !found.existing?.isOpen) return { runId: found?.runId };
  if (!found.existing.isSame) {
    const { code, message } = takenBy(workflowId, found.existing.source);
    return { taken: ApplicationFailure.nonRetryable(message, code) };
  }
  const [ended] = (await waitSteps['conversion.awaitJobs']({ jobs: [{ workflowId, runId: found.runId }] })).seen;
  return { runId: ended?.runId };
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
