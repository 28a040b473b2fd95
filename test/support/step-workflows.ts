/** A workflows file that composes the steps of a job by itself, and lacks conversionJob. */
import { executeChild } from '@temporalio/workflow';
import type { ConversionPolicies } from '../../src/shared/policies';
import { conversionJob, conversionSteps } from '../../src/workflows';

interface UploadOnce {
  app: string;
  uri: string;
  outputs: string[];
  policies: ConversionPolicies;
}

/** Uploads a file once and converts it to several formats, whose task ids it returns. */
export async function convertToMany({ app, uri, outputs, policies }: UploadOnce): Promise<string[]> {
  const steps = conversionSteps(policies);
  const uploaded = await steps.uploadFile({ app, uri, output: outputs[0] ?? '', onExisting: 'fail' });
  if (uploaded.skipped) return [];
  const { connector } = uploaded;
  const tasks: string[] = [];
  for (const output of outputs) {
    const submitted = await steps.convertFile({ app, connector, sourceName: 'report.md', output, onExisting: 'fail' });
    if (!submitted.skipped) tasks.push(submitted.report.taskId);
  }
  return tasks;
}

/** The mistake: the type is imported, and not exported. */
export async function startConversion(input: Parameters<typeof conversionJob>[0]) {
  return executeChild(conversionJob, { args: [input] });
}
