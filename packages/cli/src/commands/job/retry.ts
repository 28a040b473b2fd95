import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { JobInspection } from 'temporal-file-conversion/internal/client/inspect-job';
import type { RetryPlan } from 'temporal-file-conversion/internal/client/retry-job';
import { planRetry, runAgain } from 'temporal-file-conversion/internal/client/retry-job';
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
    const plan = planRetry(job, { resubmit });
    if (plan.kind === 'none') {
      const next = job.status === 'running' ? ` See it go on: fileconv job watch ${typed(workflowId)}` : '';
      throw new CommandError('JOB_STATE', [`Nothing to retry: ${plan.why}.${next}`]);
    }
    if (plan.kind === 'keep') {
      throw new CommandError('JOB_STATE', [
        `Job ${workflowId} was not started again: ${plan.why}. Look at the service first; to convert all the same, and maybe pay twice: fileconv job retry ${typed(workflowId)} --resubmit`,
      ]);
    }
    const runId = await temporal.untilClosed(async () => {
      await runAgain(client, job, plan).catch((error: unknown) => {
        throw explain(error, job);
      });
      return (await client.workflow.getHandle(workflowId).describe()).runId;
    });
    const from = plan.kind === 'fetch' ? 'converting' : 'uri' in job.history.input.source ? 'uploading' : 'submitting';
    const possiblyChargedTwice =
      plan.earlier.possiblyChargedTwice === true || (plan.kind === 'convert' && plan.isMarked);
    if (output.json) output.printJson({ workflowId, runId, from, possiblyChargedTwice });
    else output.print(tell(job, plan));
    return exitCodes.ok;
  });
}

function tell({ workflowId }: JobInspection, plan: Extract<RetryPlan, { kind: 'fetch' | 'convert' }>): string {
  const next = `See it go on: fileconv job watch ${typed(workflowId)}`;
  if (plan.kind === 'fetch') {
    return `Job ${workflowId} runs again: it awaits and downloads conversion task ${plan.taskId}; nothing is submitted. ${next}`;
  }
  const note = plan.isMarked ? ' Its result will say "possibly charged twice".' : '';
  return `Job ${workflowId} runs again from its beginning.${note} ${next}`;
}

function explain(error: unknown, { workflowId }: JobInspection): unknown {
  if (!(error instanceof WorkflowExecutionAlreadyStartedError)) return error;
  const problem = `Somebody has started job ${workflowId} again meanwhile. See it go on: fileconv job watch ${typed(workflowId)}`;
  return new CommandError('JOB_STATE', [problem], { cause: error });
}
