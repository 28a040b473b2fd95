import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/common';
import {
  FileConversionClient,
  inspectJob,
  type JobInspection,
  NotAConversionJobError,
  planRetry,
  type RetryOptions,
} from 'temporal-file-conversion/client';
import { shellWord } from 'temporal-file-conversion/messages';
import { filesOf } from '../../batch/batch-folder';
import type { CommandContext } from '../../command-context';
import { CommandError, explaining } from '../../command-error';
import { openTemporal, type StackInUse } from '../../stack/open-temporal';

/** Runs a command about one job, with what is known of it. @throws CommandError when there is no such job. */
export async function withJob<T>(
  context: CommandContext,
  workflowId: string,
  run: (temporal: StackInUse, job: JobInspection) => T | Promise<T>,
): Promise<T> {
  const temporal = await openTemporal(context);
  const notKnown = () =>
    `Temporal knows no job ${workflowId} in namespace ${temporal.namespace}. See: fileconv job list`;
  const noJob = ({ workflowType }: NotAConversionJobError) =>
    `${workflowId} is no conversion job: its workflow type is ${workflowType}. See: fileconv job list`;
  try {
    return await temporal
      .untilClosed(() => inspectJob(temporal.client, workflowId))
      .then((job) => run(temporal, job))
      .catch(explaining(WorkflowNotFoundError, 'INPUT_UNUSABLE', notKnown))
      .catch(explaining(NotAConversionJobError, 'INPUT_UNUSABLE', noJob));
  } finally {
    await temporal.close();
  }
}

/** `fileconv job cancel`: asks a job to stop; it leaves no temporary file. Exit code 1 when it had ended otherwise before. */
export async function jobCancel(context: CommandContext, workflowId: string): Promise<void> {
  const { output } = context;
  return withJob(context, workflowId, async (temporal, job) => {
    const { status, runId, taskId, phase, worker } = job;
    if (status === 'cancelled') {
      output.result({ workflowId, runId, status }, `Job ${workflowId} was cancelled before.`);
      return;
    }
    if (status !== 'running') {
      throw new CommandError('JOB_STATE', [
        `Job ${workflowId} has ended already (${status}). See: fileconv job show ${shellWord(workflowId)}`,
      ]);
    }
    await temporal.untilClosed(() => temporal.client.workflow.getHandle(workflowId, runId).cancel());
    const goesOn = taskId !== undefined && phase === 'converting';
    const told = { workflowId, runId, status: 'cancelling', ...(goesOn && { taskId }) };
    output.result(told, `Job ${workflowId} is asked to cancel.`);
    if (goesOn) {
      output.warn(`The service has no cancel endpoint: conversion task ${taskId} continues there and may be charged.`);
    }
    if (worker === 'none') output.warn('No worker is alive: the job ends when one runs again (fileconv worker).');
  });
}

export async function jobRetry(
  context: CommandContext,
  workflowId: string,
  { resubmit = false, again = false }: RetryOptions,
): Promise<void> {
  const id = shellWord(workflowId);
  const seeItContinue = `See it continue: fileconv job watch ${id}`;
  return withJob(context, workflowId, async (temporal, job) => {
    if (job.status === 'running') {
      throw new CommandError('JOB_STATE', [`Nothing to retry: job ${workflowId} still runs. ${seeItContinue}`]);
    }
    const { client } = temporal;
    const retry = await planRetry({ client, files: filesOf(context) }, job, { resubmit, again });
    const { decision } = retry;
    if (decision.kind === 'done') {
      const again = `To convert it again, and pay again: fileconv job retry ${id} --again`;
      throw new CommandError('JOB_STATE', [`Nothing to retry: job ${workflowId} has completed. ${again}`]);
    }
    if (decision.kind === 'keep') {
      const { message = '' } = decision.outcome;
      throw new CommandError('JOB_STATE', [`Job ${workflowId} was not started again: ${message}`]);
    }
    const runId = await temporal.untilClosed(async () => {
      await new FileConversionClient({ client, taskQueue: job.taskQueue })
        .retry(job, retry)
        .catch(
          explaining(
            WorkflowExecutionAlreadyStartedError,
            'JOB_STATE',
            () => `Somebody has started job ${workflowId} again meanwhile. ${seeItContinue}`,
          ),
        );
      return (await client.workflow.getHandle(workflowId).describe()).runId;
    });
    const { charge = 'no', taskId, possiblyChargedExtra = 0 } = decision.earlier ?? {};
    const from = taskId !== undefined ? 'converting' : 'uri' in job.input.source ? 'uploading' : 'submitting';
    const isMarked = possiblyChargedExtra > 0 || charge === 'maybe';
    const how =
      taskId !== undefined
        ? `: it awaits and downloads conversion task ${taskId}; nothing is submitted.`
        : ` from its beginning.${isMarked ? ' Its result will say "possibly charged twice".' : ''}`;
    context.output.result(
      { workflowId, runId, from, possiblyChargedTwice: isMarked },
      `Job ${workflowId} runs again${how} ${seeItContinue}`,
    );
  });
}
