import { ActivityFailure, ApplicationFailure, workflowInfo } from '@temporalio/workflow';
import { failureCodes } from '../../job/activities';
import type { SourceMoves } from '../../batch/model/types';
import type { ConversionBatchResult } from '../../batch/model/state';
import type { BatchItemEnd } from '../../job/types';
import type { MergeBatchResultsInput, WriteBatchReportInput } from '../../batch/model/activities';
import { fileSteps, reportSteps } from './batch-activities';

/**
 * @returns the URI of `results.jsonl`.
 * @throws if the run's files hold other counts than the results of its jobs.
 */
export async function mergeResults(
  run: MergeBatchResultsInput,
  counted: Record<BatchItemEnd, number>,
): Promise<string> {
  const { results, counts } = await fileSteps['conversion.mergeBatchResults'](run).catch((error: unknown) => {
    throw unwrap(error);
  });
  const names = ['succeeded', 'failed', 'skipped', 'cancelled'] as const;
  if (names.every((name) => counts[name] === counted[name])) return results;
  const list = (of: Record<BatchItemEnd, number>) => names.map((name) => `${of[name]} ${name}`).join(', ');
  throw ApplicationFailure.nonRetryable(
    `The batch counted ${list(counted)}; its files in ${run.folder} hold ${list(counts)}. Was a file of the run changed, or the workflow reset? Run the batch again to continue with what is left.`,
    failureCodes.batchCounts,
  );
}

/** A failed report does not fail the batch: no client may be left to wait for a fix. */
export async function writeReport(
  state: ConversionBatchResult,
  place: ReportPlace,
): Promise<Pick<ConversionBatchResult, 'report' | 'reportFailure'>> {
  try {
    return await reportSteps['conversion.writeBatchReport'](reportInput(state, place));
  } catch (error) {
    const cause = unwrap(error);
    return { reportFailure: cause instanceof Error ? cause.message : String(cause) };
  }
}

export interface ReportPlace {
  folder: string;
  uiUrl: string | undefined;
}

export function reportInput(state: WriteBatchReportInput['state'], { folder, uiUrl }: ReportPlace) {
  const { workflowId: batch, namespace } = workflowInfo();
  return { folder, batch, state, ...(uiUrl !== undefined && { ui: { url: uiUrl, namespace } }) };
}

/** Sources that can't be moved are left to the next sweep; their results stand. */
export async function moveSources(
  folder: string,
  moves: SourceMoves | undefined,
): Promise<Pick<ConversionBatchResult, 'unmoved'>> {
  if (!moves) return {};
  try {
    const { workflowId: batch } = workflowInfo();
    const unmoved = await fileSteps['conversion.moveSources']({ folder, batch, moves });
    return unmoved ? { unmoved } : {};
  } catch (error) {
    const cause = unwrap(error);
    return { unmoved: { files: 0, why: cause instanceof Error ? cause.message : String(cause) } };
  }
}

/** Replaces an `ActivityFailure` by its cause, which says what is wrong. */
export function unwrap(error: unknown): unknown {
  return error instanceof ActivityFailure ? (error.cause ?? error) : error;
}
