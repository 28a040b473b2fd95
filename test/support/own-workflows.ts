/** A workflows file of a user of the library. */
import { executeChild, sleep } from '@temporalio/workflow';
import type { ConversionJobInput, ConversionJobResult } from '../../src/job/types';
import type { ConversionBatchInput } from '../../src/batch/model/types';
import type { ConversionBatchResult } from '../../src/batch/model/state';
import { conversionBatch, conversionChildOptions, conversionJob, executeConversion } from '../../src/workflows';

export * from '../../src/workflows';

export const convertListed = async (input: ConversionJobInput, workflowId: string): Promise<ConversionJobResult> =>
  executeChild(conversionJob, { ...conversionChildOptions(input), workflowId });

export async function convertTogether(input: ConversionBatchInput, workflowId: string): Promise<ConversionBatchResult> {
  return executeChild(conversionBatch, { args: [input], workflowId });
}

export const convertOnce = async (input: ConversionJobInput, jobId?: string): Promise<ConversionJobResult> =>
  executeConversion(input, { ...(jobId !== undefined && { workflowId: jobId }) });

/** Without the options for listing. */
export const convertUnlisted = async (input: ConversionJobInput, workflowId: string): Promise<ConversionJobResult> =>
  executeChild(conversionJob, { args: [input], workflowId });

export async function convertLater(wait: string, input: ConversionJobInput): Promise<ConversionJobResult> {
  await sleep(wait);
  return executeConversion(input, { isListed: false });
}
