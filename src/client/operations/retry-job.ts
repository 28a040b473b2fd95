import type { Client } from '@temporalio/client';
import { decideRepetition, type EarlierRuns } from '../../shared/charge';
import { defined } from '../../shared/defined';
import type { ConversionJobInput, ConversionOutput, OnUnknownOutcome, OutputResult } from '../../shared/job';
import type { ConversionHandle } from '../conversion-handle';
import { FileConversionClient } from '../file-conversion-client';
import type { InspectedOutput, JobInspection } from './inspect-job';

/** How a job that ended without a file can run again; see docs/repetition.md. */
export type RetryPlan =
  /** Waits for the existing task and downloads its result. Submits only if that task failed, which is free. */
  | { kind: 'fetch'; taskId: string; earlier: EarlierRuns }
  /** From the start. `isMarked`: an earlier submit was or may have been charged, and the result will say so. */
  | { kind: 'convert'; isMarked: boolean; earlier: EarlierRuns; outputs?: ConversionOutput[] }
  /** An earlier submit may have been charged, so another needs an explicit request. */
  | { kind: 'keep'; why: string }
  | { kind: 'none'; why: string };

/**
 * Decides what is safe from the history of the job's last run. Without `resubmit`, nothing that may have been charged
 * is converted again, whatever the job's policy: an operator can check first.
 */
export function planRetry(
  { status, history, workflowId, outputs = [] }: JobInspection,
  { resubmit = false }: { resubmit?: boolean } = {},
): RetryPlan {
  if (status === 'running') return { kind: 'none', why: `job ${workflowId} still runs` };
  if (status === 'completed') return { kind: 'none', why: `job ${workflowId} has completed` };
  if (history.input.outputs) return planOutputs(history.input.outputs, outputs, resubmit);
  return planLeft(history.charge, resubmit);
}

function planLeft(earlier: EarlierRuns, resubmit: boolean): RetryPlan {
  const onUnknownOutcome: OnUnknownOutcome = 'fail';
  // If the file has changed, `resubmit` means that the new one is wanted.
  const repetition = decideRepetition(earlier, { onUnknownOutcome, isSameContent: true, resubmit });
  switch (repetition.kind) {
    case 'fetch':
      return { ...repetition, earlier };
    case 'convert':
      return { ...repetition, earlier: withoutTask(earlier) };
    case 'keep':
      return {
        kind: 'keep',
        why: 'its last submit has an unknown outcome: the conversion may have run and may have been charged',
      };
  }
}

/** Only what failed is converted again: the other outputs are done. */
function planOutputs(
  asked: readonly ConversionOutput[],
  ends: readonly InspectedOutput[],
  resubmit: boolean,
): RetryPlan {
  const outputs: ConversionOutput[] = [];
  let isMarked = false;
  for (const [index, output] of asked.entries()) {
    const { left, ...end }: Partial<InspectedOutput> = ends[index] ?? {};
    if (end.status === 'succeeded' || end.status === 'skipped') {
      outputs.push({ ...output, done: end as OutputResult });
      continue;
    }
    if (end.status === 'running') return { kind: 'none', why: `its output ${output.output} still runs` };
    const plan = planLeft(left ?? { charge: 'no' }, resubmit);
    if (plan.kind === 'keep') return { kind: 'keep', why: `output ${output.output}: ${plan.why}` };
    if (plan.kind === 'none') return plan;
    isMarked ||= plan.kind === 'convert' && plan.isMarked;
    outputs.push({ ...output, earlier: plan.earlier });
  }
  return { kind: 'convert', isMarked, earlier: { charge: 'no' }, outputs };
}

/** Keeps the charge, but drops the task, so that the new run does not wait for it. */
function withoutTask({ charge, possiblyChargedTwice }: EarlierRuns): EarlierRuns {
  return {
    charge: charge === 'yes' ? 'maybe' : charge,
    ...(possiblyChargedTwice && { possiblyChargedTwice }),
  };
}

/** A job of a batch may share its upload with others; alone it uploads. */
function withoutUpload(input: ConversionJobInput): Omit<ConversionJobInput, 'upload' | 'tellsUpload'> {
  const alone = { ...input };
  delete alone.upload;
  delete alone.tellsUpload;
  return alone;
}

/** Starts a new run of the job, with the same id and the record of its earlier runs. */
export function runAgain(
  client: Client,
  { workflowId, taskQueue, batchId, tags, history }: JobInspection,
  plan: Extract<RetryPlan, { kind: 'fetch' | 'convert' }>,
): Promise<ConversionHandle> {
  const conversions = new FileConversionClient({ client, taskQueue });
  const { policies, source: first, ...input } = withoutUpload(history.input);
  // What was left beside the destination is of the run that has ended.
  const source = 'uri' in first ? first : defined({ connector: first.connector, name: first.name });
  // If the service has lost the task, paying again needs an explicit request.
  const { kind, earlier } = plan;
  const outputs = kind === 'convert' ? plan.outputs : undefined;
  const isFetched = kind === 'fetch' || outputs?.some((output) => output.earlier?.taskId !== undefined) === true;
  const decided = isFetched ? { ...policies, onUnknownOutcome: 'fail' as const } : policies;
  const again = outputs ? { outputs } : { earlier };
  const request = { ...input, source, ...(decided && { policies: decided }), ...again };
  return conversions.start(request, defined({ workflowId, batchId, tags }));
}
