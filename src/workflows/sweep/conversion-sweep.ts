import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ApplicationFailure,
  ChildWorkflowFailure,
  ParentClosePolicy,
  setCurrentDetails,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { failureCodes } from '../../shared/activities';
import type { ConversionBatchResult, ConversionSweepInput, ConversionSweepResult } from '../../shared/batch';
import { conversionBatchType } from '../../shared/names';
import { attributesOf, isListed, storable } from '../../shared/search-attributes';
import { batchDetails, batchSummary } from '../../shared/temporal-ui';
import { shellWord } from '../../shared/wording';
import type { conversionBatch } from '../batch/conversion-batch';

/**
 * Starts a batch under its name, from a schedule, and tells how it ended. Does nothing while the batch is running.
 *
 * Completes whatever the outcome of the files, also when its cancellation has cancelled the batch. Fails as the batch does,
 * for example with `SOURCE_NOT_FOUND`.
 */
export async function conversionSweep(sweep: ConversionSweepInput): Promise<ConversionSweepResult> {
  checkSweepInput(sweep);
  const { batch } = sweep;
  const child = await startBatch(sweep);
  if (!child) {
    setCurrentDetails(`**Skipped**: batch \`${batch}\` was running already.`);
    return { status: 'batchRunning', ...countsOf(undefined), warnings: [] };
  }
  try {
    const ended = await child.result();
    const { status, results, reportFailure } = ended;
    const warnings = [
      ...(ended.planned?.warnings ?? []).slice(0, maxWarnings),
      ...(reportFailure === undefined
        ? []
        : [`There is no report: ${reportFailure} When that is fixed: fileconv batch report ${shellWord(batch)}`]),
    ];
    const result = { status, ...countsOf(ended), ...(results !== undefined && { results }), warnings };
    setCurrentDetails(describeSweep(batch, result));
    return result;
  } catch (error) {
    throw error instanceof ChildWorkflowFailure ? (error.cause ?? error) : error;
  }
}

const maxWarnings = 20;

/** Undefined if it was running already. */
async function startBatch({ batch, input }: ConversionSweepInput) {
  try {
    return await startChild<typeof conversionBatch>(conversionBatchType, {
      workflowId: batch,
      args: [input],
      // Like the jobs of a batch, the batch outlives its parent. Cancelling the sweep still cancels it.
      parentClosePolicy: ParentClosePolicy.ABANDON,
      staticSummary: batchSummary(input),
      staticDetails: batchDetails(input),
      ...(isListed(workflowInfo()) && {
        typedSearchAttributes: storable(attributesOf(input.app, { batchId: batch })),
      }),
    });
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return undefined;
    throw error;
  }
}

function countsOf(ended: ConversionBatchResult | undefined) {
  const {
    planned,
    succeeded = 0,
    cancelled = 0,
    kept = 0,
    refused: failedSo = 0,
    failed = 0,
    missing = 0,
  } = ended ?? {};
  const { done = 0, unsettled = 0, refused = 0, leftOut = 0 } = planned ?? {};
  // What is kept or refused is counted apart, and some is only recognized while the batch runs.
  const todo = (planned?.todo ?? 0) - (kept - (planned?.kept ?? 0));
  return {
    todo,
    succeeded,
    failed: failed - kept - failedSo,
    cancelled,
    kept,
    refused,
    done,
    missing,
    unsettled,
    leftOut,
  };
}

function describeSweep(batch: string, result: ConversionSweepResult): string {
  const { status, todo, succeeded, failed, cancelled, kept, refused, unsettled, leftOut, warnings } = result;
  const name = shellWord(batch);
  const outcome = [`${succeeded} succeeded`, `${failed} failed`, ...(cancelled > 0 ? [`${cancelled} cancelled`] : [])];
  const headline = todo === 0 ? 'nothing was new or changed' : `${todo} new or changed files, ${outcome.join(', ')}`;
  const lines = [
    `**${status}**: ${headline}`,
    todo > 0 && `Batch \`${batch}\`; its report: \`fileconv batch report ${name}\``,
    kept > 0 &&
      `**Needs a person**: ${kept} files were not converted, since an earlier sweep may have been charged for them. Look at the service first; to convert all the same, and maybe pay twice: \`fileconv batch retry ${name} --resubmit\``,
    refused > 0 &&
      `${refused} files were not sent: it is known that they can't be converted. Repair them, or leave them out.`,
    leftOut > 0 && `**${leftOut} files or folders were left out**: they can't be read.`,
    unsettled > 0 && `${unsettled} files that may still be being written are left to the next sweep.`,
    ...warnings.map((warning) => `- ${warning}`),
  ];
  return lines.filter(Boolean).join('\n\n');
}

/** The client has already checked this, but a hand-written schedule may not; a plain error would be retried forever. */
function checkSweepInput(sweep: Partial<ConversionSweepInput> | null | undefined): void {
  const invalid = (field: string, problem: string) =>
    ApplicationFailure.nonRetryable(`conversionSweep: ${field} ${problem}`, failureCodes.invalidSweep);
  if (typeof sweep !== 'object' || sweep === null) throw invalid('its input', 'must be an object');
  if (typeof sweep.batch !== 'string' || sweep.batch === '') throw invalid('batch', 'must be the name of the batch');
  if (typeof sweep.input?.app !== 'string') throw invalid('input', 'must be what the batch is started with');
}
