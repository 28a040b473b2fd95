import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { JobInspection } from '../../../client/inspect-job';
import type { RetryPlan } from '../../../client/retry-job';
import { planRetry, resumeJob, startAnew } from '../../../client/retry-job';
import type { CommandContext } from '../../command-context';
import { CommandError } from '../../command-error';
import type { ExitCode } from '../../exit';
import { exitCodes } from '../../exit';
import { typed, withJob } from './open-job';

/**
 * `fileconv job retry`: a new run of a job that ended without a file, from where it is safe. What may have been charged is submitted again only with
 * `--resubmit`.
 */
export async function jobRetry(
  context: CommandContext,
  workflowId: string,
  { resubmit }: { resubmit: boolean },
): Promise<ExitCode> {
  const { output } = context;
  return withJob(context, workflowId, async (temporal, job) => {
    const { client } = temporal;
    const plan = planRetry(job);
    if (plan.kind === 'none') {
      const next = job.status === 'running' ? ` See it go on: fileconv job watch ${typed(workflowId)}` : '';
      throw new CommandError('JOB_STATE', [`Nothing to retry: ${plan.why}.${next}`]);
    }
    if (plan.kind === 'resubmit' && !resubmit) {
      throw new CommandError('JOB_STATE', [
        `Job ${workflowId} was not started again: ${plan.why}. Look at the service first; to convert all the same, and maybe pay twice: fileconv job retry ${typed(workflowId)} --resubmit`,
      ]);
    }
    // What is there already is used, unless somebody wants to convert once more.
    const isResumed = plan.kind === 'resume' && !resubmit;
    const chargedBefore = plan.kind === 'resubmit' || (plan.kind === 'resume' && resubmit);
    const runId = await temporal.untilClosed(async () => {
      if (isResumed) return resumeJob(client, job, plan);
      await startAnew(client, job, { chargedBefore }).catch((error: unknown) => {
        throw explain(error, job);
      });
      return (await client.workflow.getHandle(workflowId).describe()).runId;
    });
    const from = isResumed ? plan.from : 'uri' in job.history.input.source ? 'uploading' : 'submitting';
    if (output.json) output.printJson({ workflowId, runId, from, possiblyChargedTwice: chargedBefore });
    else output.print(tell(job, plan, { isResumed, chargedBefore }));
    return exitCodes.ok;
  });
}

function tell(
  { workflowId }: JobInspection,
  plan: RetryPlan,
  { isResumed, chargedBefore }: { isResumed: boolean; chargedBefore: boolean },
): string {
  const next = `See it go on: fileconv job watch ${typed(workflowId)}`;
  if (isResumed && plan.kind === 'resume') {
    const what = plan.from === 'downloading' ? 'downloads the result of' : 'awaits';
    return `Job ${workflowId} runs again: it ${what} conversion task ${plan.taskId}; nothing is submitted. ${next}`;
  }
  const note = chargedBefore ? ' Its result will say "possibly charged twice".' : '';
  return `Job ${workflowId} runs again from its beginning.${note} ${next}`;
}

function explain(error: unknown, { workflowId }: JobInspection): unknown {
  if (!(error instanceof WorkflowExecutionAlreadyStartedError)) return error;
  const problem = `Somebody has started job ${workflowId} again meanwhile. See it go on: fileconv job watch ${typed(workflowId)}`;
  return new CommandError('JOB_STATE', [problem], { cause: error });
}
