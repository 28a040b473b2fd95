import type { CommandContext } from '../../command-context';
import { CommandError } from '../../command-error';
import type { ExitCode } from '../../exit';
import { exitCodes } from '../../exit';
import { typed, withJob } from './open-job';

/** `fileconv job cancel`: asks a job to stop; it leaves no temporary file. Exit code 1 when it had ended otherwise before. */
export async function jobCancel(context: CommandContext, workflowId: string): Promise<ExitCode> {
  const { output } = context;
  return withJob(context, workflowId, async (temporal, job) => {
    const { status, runId, taskId, phase, worker } = job;
    if (status === 'cancelled') {
      if (output.json) output.printJson({ workflowId, runId, status });
      else output.print(`Job ${workflowId} was cancelled before.`);
      return exitCodes.ok;
    }
    if (status !== 'running') {
      throw new CommandError('JOB_STATE', [
        `Job ${workflowId} has ended already (${status}). See: fileconv job show ${typed(workflowId)}`,
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
    return exitCodes.ok;
  });
}
