import { WorkflowNotFoundError } from '@temporalio/common';
import {
  inspectJob,
  NotAConversionJobError,
  type JobInspection,
} from 'temporal-file-conversion/internal/client/operations/inspect-job';
import type { CommandContext } from '../../command-context';
import { CommandError } from '../../command-error';
import { openTemporal, type OpenTemporal } from '../../stack/open-temporal';

/**
 * Runs a command about one job, with what is known of it. The connection is closed afterwards.
 * @throws CommandError when there is no such job.
 */
export async function withJob<T>(
  context: CommandContext,
  workflowId: string,
  run: (temporal: OpenTemporal, job: JobInspection) => Promise<T>,
): Promise<T> {
  const temporal = await openTemporal(context);
  try {
    const job = await temporal.untilClosed(() => inspectJob(temporal.client, workflowId));
    return await run(temporal, job);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) {
      const problem = `Temporal knows no job ${workflowId} in namespace ${temporal.namespace}. See: fileconv job list`;
      throw new CommandError('INPUT_UNUSABLE', [problem], { cause: error });
    }
    if (error instanceof NotAConversionJobError) {
      const problem = `${workflowId} is no conversion job: its workflow type is ${error.workflowType}. See: fileconv job list`;
      throw new CommandError('INPUT_UNUSABLE', [problem], { cause: error });
    }
    throw error;
  } finally {
    await temporal.close();
  }
}
