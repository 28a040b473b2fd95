import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { RefusedPlanError } from '../batch/plan/findings';
import { planBatch } from '../batch/plan/plan-batch';
import type { RefusedCount } from '../batch/plan/planned-batch';
import { removeOldRuns } from '../batch/runs/earlier-results';
import { discardRun } from '../batch/runs/run-folders';
import { isOpen } from '../shared/job-outcome';
import type { DiscardBatchRunInput, PlanSweepInput, PlanSweepResult, SweepPlan } from '../shared/sweep';
import { asFolder } from '../batch/uris';
import { runBatchStep } from './activity-attempt';
import type { ActivityDependencies } from './dependencies';
import { formatQuestions } from './format-questions';

const maxWarnings = 20;

/**
 * Plans a run of the new or changed files of a folder, unless the batch is running and its results still unknown.
 * Idempotent: an interrupted attempt at most leaves a run that never started, which the planner recognizes.
 */
export function createPlanBatch({ files, api }: Pick<ActivityDependencies, 'files' | 'api'>) {
  return ({ app, batch, plan }: PlanSweepInput): Promise<PlanSweepResult> =>
    runBatchStep(async ({ context, signal }) => {
      if (await isRunning(context.client, batch)) return { batchRunning: true };
      const batchFolder = asFolder(plan.batchFolder);
      const { run, rows, todo, kept, refused, done, leftOut, problems, warnings } = await planBatch({
        ...planOptions(plan),
        ...formatQuestions(() => api(app), signal),
        files,
        batchFolder,
        // Nobody watches a sweep: whatever the policy of its jobs, the next one does not pay again for an unknown outcome.
        onUnknownOutcome: 'fail',
        signal,
      });
      if (problems.count > 0) throw new RefusedPlanError(problems);
      await removeOldRuns(files, batchFolder);
      return {
        batchRunning: false,
        ...(run && { run: { folder: run.folder, items: rows } }),
        todo,
        kept,
        refused: refused.reduce((sum, { rows: some }) => sum + some, 0),
        done,
        unsettled: leftOut.unsettled,
        warnings: [...refused.map(tellRefused), ...warnings.listed.map(({ message }) => message)].slice(0, maxWarnings),
      };
    });
}

function tellRefused({ first, rows, refusal }: RefusedCount): string {
  return `${first}${rows > 1 ? ` and ${rows - 1} more` : ''}: ${refusal.message}`;
}

function planOptions(plan: SweepPlan) {
  const { from, to, parameters, out, extension, recursive, exclude, unconvertible, settledForMs } = plan;
  const folder = asFolder(from);
  return {
    what: {
      sources: [folder],
      to,
      ...(parameters && { parameters }),
      recursive: recursive === true,
      exclude: exclude ?? [],
    },
    cwd: folder,
    out: asFolder(out),
    ...(extension !== undefined && { extensionOf: () => extension }),
    unconvertible,
    settledForMs,
    mayBeEmpty: true,
  };
}

async function isRunning(client: Client, workflowId: string): Promise<boolean> {
  try {
    return isOpen(await client.workflow.getHandle(workflowId).describe());
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/** Removes a run that could not be started, which the planner would take for one that did nothing. Idempotent. */
export function createDiscardBatchRun({ files }: Pick<ActivityDependencies, 'files'>) {
  return ({ folder }: DiscardBatchRunInput): Promise<void> => runBatchStep(() => discardRun(files, folder));
}
