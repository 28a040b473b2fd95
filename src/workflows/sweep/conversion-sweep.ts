import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  ChildWorkflowFailure,
  ParentClosePolicy,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { failureCodes } from '../../shared/activities';
import type { ConversionBatchResult, ConversionSweepInput, ConversionSweepResult } from '../../shared/batch';
import type { PlanSweepResult, SweepActivities } from '../../shared/batch-activities';
import { conversionBatchType } from '../../shared/names';
import { attributesOf, listingOptions, settableAttributes } from '../../shared/search-attributes';
import { batchDetails } from '../../shared/temporal-ui';
import type { conversionBatch } from '../batch/conversion-batch';

const retry = { initialInterval: '1 second', maximumInterval: '60 seconds' } as const;

/** Hashes changed files and waits until files have settled. What a day can't fix is left to the next sweep. */
const planningActivities = proxyActivities<SweepActivities>({
  heartbeatTimeout: '10 seconds',
  scheduleToCloseTimeout: '1 day',
  // The result is needed even after a cancellation, so that a run that was written can be removed.
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry,
});

const tidyingActivities = proxyActivities<SweepActivities>({
  heartbeatTimeout: '10 seconds',
  startToCloseTimeout: '10 minutes',
  retry,
});

type Plan = Extract<PlanSweepResult, { batchRunning: false }>;

/**
 * Converts the new and changed files of a folder since earlier sweeps, in the named batch; run it by a schedule.
 *
 * Completes whatever the outcome of the files, also when its cancellation has cancelled the batch. Does nothing while
 * the batch is already running. Fails when planning fails, with the code of the first problem, for example
 * `SOURCE_NOT_FOUND`, or with the batch's code when the batch can't work.
 */
export async function conversionSweep(input: ConversionSweepInput): Promise<ConversionSweepResult> {
  checkSweepInput(input);
  const plan = await planning(input);
  const result = await convert(input, plan);
  setCurrentDetails(describeSweep(input, result));
  return result;
}

async function planning({ batch, plan, settings }: ConversionSweepInput): Promise<PlanSweepResult> {
  try {
    return await planningActivities['conversion.planBatch']({ app: settings.app, batch, plan });
  } catch (error) {
    // The activity's own failure says what is wrong.
    throw error instanceof ActivityFailure ? (error.cause ?? error) : error;
  }
}

async function convert(input: ConversionSweepInput, plan: PlanSweepResult): Promise<ConversionSweepResult> {
  if (plan.batchRunning) return batchRunning();
  if (!plan.run) return { status: 'completed', ...countsOf(plan), warnings: plan.warnings };
  const batch = await startBatch(input, plan.run);
  if (!batch) return batchRunning();
  try {
    const ended = await batch.result();
    return {
      status: ended.status,
      ...countsOf(plan, ended),
      ...(ended.results !== undefined && { results: ended.results }),
      warnings: ended.reportFailure === undefined ? plan.warnings : [...plan.warnings, withoutReport(input, ended)],
    };
  } catch (error) {
    throw error instanceof ChildWorkflowFailure ? (error.cause ?? error) : error;
  }
}

/**
 * Undefined if the batch was already running: then, as after a cancellation, the planned run is removed. After any
 * other error it stays, since the server may have received the start.
 */
async function startBatch({ batch, settings }: ConversionSweepInput, run: { folder: string; items: number }) {
  const input = { ...settings, ...run, paysOnce: true as const };
  try {
    return await startChild<typeof conversionBatch>(conversionBatchType, {
      workflowId: batch,
      args: [input],
      // Like the jobs of a batch, the batch outlives its parent. Cancelling the sweep still cancels it.
      parentClosePolicy: ParentClosePolicy.ABANDON,
      staticSummary: `${run.items} items`,
      staticDetails: batchDetails(input),
      ...listingOptions(attributesOf(settings.app, { batchId: batch }), settableAttributes(workflowInfo())),
    });
  } catch (error) {
    const isRunning = error instanceof WorkflowExecutionAlreadyStartedError;
    if (!isRunning && !isCancellation(error)) throw error;
    await CancellationScope.nonCancellable(() =>
      tidyingActivities['conversion.discardBatchRun']({ folder: run.folder }),
    );
    if (isRunning) return undefined;
    throw error;
  }
}

function countsOf(plan: Plan, ended?: ConversionBatchResult) {
  const { refused, done, unsettled } = plan;
  const none = { succeeded: 0, failed: plan.kept, cancelled: 0, kept: plan.kept };
  const { succeeded, cancelled, kept } = ended ?? none;
  const failed = (ended ?? none).failed - kept - (ended?.refused ?? 0);
  // Items kept from earlier runs are counted separately, and some are only recognized while the batch runs.
  const todo = plan.todo - (kept - plan.kept);
  return { todo, succeeded, failed, cancelled, kept, refused, done, unsettled };
}

function withoutReport({ batch }: ConversionSweepInput, { reportFailure = '' }: ConversionBatchResult): string {
  return `There is no report: ${reportFailure} When that is fixed: fileconv batch report ${batch}`;
}

function batchRunning(): ConversionSweepResult {
  const none = { todo: 0, succeeded: 0, failed: 0, cancelled: 0, kept: 0, refused: 0, done: 0, unsettled: 0 };
  return { status: 'batchRunning', ...none, warnings: [] };
}

function describeSweep({ batch }: ConversionSweepInput, result: ConversionSweepResult): string {
  const { status, todo, succeeded, failed, cancelled, kept, refused, unsettled, warnings } = result;
  if (status === 'batchRunning') return `**Skipped**: batch \`${batch}\` was running already.`;
  const outcome = [`${succeeded} succeeded`, `${failed} failed`, ...(cancelled > 0 ? [`${cancelled} cancelled`] : [])];
  const headline = todo === 0 ? 'nothing was new or changed' : `${todo} new or changed files, ${outcome.join(', ')}`;
  return [
    `**${status}**: ${headline}`,
    ...(todo === 0 ? [] : [`Batch \`${batch}\`; its report: \`fileconv batch report ${batch}\``]),
    ...(kept === 0
      ? []
      : [
          `**Needs a person**: ${kept} files were not converted, since an earlier sweep may have been charged for them. Look at the service first; to convert all the same, and maybe pay twice: \`fileconv batch retry ${batch} --resubmit\``,
        ]),
    ...(refused === 0
      ? []
      : [`${refused} files were not sent: the service does not convert them. Repair them, or leave them out.`]),
    ...(unsettled === 0 ? [] : [`${unsettled} files that may still be being written are left to the next sweep.`]),
    ...warnings.map((warning) => `- ${warning}`),
  ].join('\n\n');
}

/** The client has already checked this, but a hand-written schedule may not; a plain error would be retried forever. */
function checkSweepInput(input: Partial<ConversionSweepInput> | null | undefined): void {
  if (typeof input !== 'object' || input === null) throw invalid('its input', 'must be an object');
  const { batch, plan, settings } = input;
  if (typeof batch !== 'string' || batch === '') throw invalid('batch', 'must be the name of the batch');
  for (const name of ['from', 'out', 'batchFolder'] as const) {
    const uri: unknown = plan?.[name];
    if (typeof uri !== 'string' || !/^[a-z][a-z0-9+.-]*:/i.test(uri)) throw invalid(`plan.${name}`, 'must be a URI');
  }
  if (typeof plan?.to !== 'string' || plan.to === '') throw invalid('plan.to', 'must be a format');
  if (!(plan.settledForMs > 0)) throw invalid('plan.settledForMs', 'must be above 0');
  if (typeof settings?.app !== 'string') throw invalid('settings.app', 'must be an app profile');
}

function invalid(field: string, problem: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(`conversionSweep: ${field} ${problem}`, failureCodes.invalidSweep);
}
