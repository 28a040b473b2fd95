import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { JobInspection } from 'temporal-file-conversion/internal/client/operations/inspect-job';
import { planRetry, runAgain, type RetryPlan } from 'temporal-file-conversion/internal/client/operations/retry-job';
import { shellWord } from 'temporal-file-conversion/internal/shared/wording';
import type { CommandContext } from '../../command-context';
import { CommandError } from '../../command-error';
import { withJob } from './open-job';

/** `fileconv job cancel`: asks a job to stop; it leaves no temporary file. Exit code 1 when it had ended otherwise before. */
export async function jobCancel(context: CommandContext, workflowId: string): Promise<void> {
  const { output } = context;
  return withJob(context, workflowId, async (temporal, job) => {
    const { status, runId, taskId, phase, worker } = job;
    if (status === 'cancelled') {
      if (output.json) output.printJson({ workflowId, runId, status });
      else output.print(`Job ${workflowId} was cancelled before.`);
      return;
    }
    if (status !== 'running') {
      throw new CommandError('JOB_STATE', [
        `Job ${workflowId} has ended already (${status}). See: fileconv job show ${shellWord(workflowId)}`,
      ]);
    }
    await temporal.untilClosed(() => temporal.client.workflow.getHandle(workflowId, runId).cancel());
    const goesOn = taskId !== undefined && phase === 'converting';
    if (output.json) output.printJson({ workflowId, runId, status: 'cancelling', ...(goesOn && { taskId }) });
    else output.print(`Job ${workflowId} is asked to cancel.`);
    if (goesOn) {
      output.warn(`The service has no cancel endpoint: conversion task ${taskId} goes on there and may be charged.`);
    }
    if (worker === 'none') output.warn('No worker is alive: the job ends when one runs again (fileconv worker).');
  });
}

/**
 * `fileconv job retry`: a new run of a job that ended without a file, from the last safe step. What may have been charged is submitted
 * again only with `--resubmit`.
 */
export async function jobRetry(
  context: CommandContext,
  workflowId: string,
  { resubmit = false }: { resubmit?: boolean },
): Promise<void> {
  const { output } = context;
  return withJob(context, workflowId, async (temporal, job) => {
    const { client } = temporal;
    const plan = planRetry(job, { resubmit });
    if (plan.kind === 'none') {
      const next = job.status === 'running' ? ` See it go on: fileconv job watch ${shellWord(workflowId)}` : '';
      throw new CommandError('JOB_STATE', [`Nothing to retry: ${plan.why}.${next}`]);
    }
    if (plan.kind === 'keep') {
      throw new CommandError('JOB_STATE', [
        `Job ${workflowId} was not started again: ${plan.why}. Look at the service first; to convert all the same, and maybe pay twice: fileconv job retry ${shellWord(workflowId)} --resubmit`,
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
  });
}

function tell({ workflowId }: JobInspection, plan: Extract<RetryPlan, { kind: 'fetch' | 'convert' }>): string {
  const next = `See it go on: fileconv job watch ${shellWord(workflowId)}`;
  if (plan.kind === 'fetch') {
    return `Job ${workflowId} runs again: it awaits and downloads conversion task ${plan.taskId}; nothing is submitted. ${next}`;
  }
  const note = plan.isMarked ? ' Its result will say "possibly charged twice".' : '';
  return `Job ${workflowId} runs again from its beginning.${note} ${next}`;
}

function explain(error: unknown, { workflowId }: JobInspection): unknown {
  if (!(error instanceof WorkflowExecutionAlreadyStartedError)) return error;
  const problem = `Somebody has started job ${workflowId} again meanwhile. See it go on: fileconv job watch ${shellWord(workflowId)}`;
  return new CommandError('JOB_STATE', [problem], { cause: error });
}
