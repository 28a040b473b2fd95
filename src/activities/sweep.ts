import { createHash } from 'node:crypto';
import { RefusedPlanError } from '../batch/plan/findings';
import { planBatch } from '../batch/plan/plan-batch';
import type { PlannedBatch, RefusedCount } from '../batch/plan/planned-batch';
import { oncePerPair, type AskAnswer, type AskPair } from '../batch/plan/settle-row';
import { discardRun, removeOldRuns } from '../batch/run-folders';
import { asFolder } from '../batch/uris';
import type { ConversionApi } from '../http/conversion-api';
import { isOpen } from '../shared/job-outcome';
import type { SweepPlan } from '../shared/batch';
import type { PlanSweepInput, PlanSweepResult } from '../shared/batch-activities';
import { capitalised, noConverter } from '../shared/wording';
import { batchStep, type ActivityDependencies } from './activity-attempt';
import { findWorkflow } from '../history/find-workflow';

const maxWarnings = 20;

/**
 * Plans a run of the new or changed files of a folder, unless the batch is running and its results still unknown.
 * Idempotent: an interrupted attempt at most leaves a run that never started, which the planner recognizes.
 */
export function createPlanBatch({ files, api }: Pick<ActivityDependencies, 'files' | 'api'>) {
  return batchStep(async ({ app, batch, plan }: PlanSweepInput, { signal }, client): Promise<PlanSweepResult> => {
    const batchFolder = asFolder(plan.batchFolder);
    const questions = formatQuestions(() => api(app), signal);
    for (;;) {
      const last = await findWorkflow(client, batch);
      if (last && isOpen(last)) return { batchRunning: true };
      const planned = await planBatch({
        ...planOptions(plan),
        ...questions,
        files,
        batchFolder,
        // Nobody watches a sweep: whatever the policy of its jobs, the next one does not pay again for an unknown outcome.
        onUnknownOutcome: 'fail',
        signal,
      });
      const { run, problems } = planned;
      if (problems.count > 0) throw new RefusedPlanError(problems);
      if (!run || (await findWorkflow(client, batch))?.runId === last?.runId) {
        await removeOldRuns(files, batchFolder);
        return resultOf(planned);
      }
      // The plan does not know what somebody has started meanwhile.
      await discardRun(files, run.folder);
    }
  });
}

function resultOf({ run, rows, todo, kept, refused, done, leftOut, warnings }: PlannedBatch): PlanSweepResult {
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

/** What a sweep asks the service, once for each pair. A service that does not say refuses nothing: the jobs find out. */
function formatQuestions(api: () => ConversionApi, signal: AbortSignal): { ask: AskPair; askAnswer: AskAnswer } {
  const told = <Answer>(question: () => Promise<Answer>): Promise<Answer | undefined> =>
    question().catch(() => {
      signal.throwIfAborted();
      return undefined;
    });
  return {
    ask: oncePerPair(async ({ extension, input = extension, output }) => {
      if (input === '' || (await told(async () => api().canConvert({ input, output, signal }))) !== false)
        return undefined;
      return { code: 'NO_CONVERTER_INPUT_TO_OUTPUT', message: capitalised(noConverter(input, output)) };
    }),
    askAnswer: oncePerPair(async ({ extension, input = extension }) => {
      const formats = await told(async () => api().formats({ sublist: 'outputs', format: input, signal }));
      const names = formats?.map(({ format }) => format).sort();
      return names && createHash('sha256').update(JSON.stringify(names)).digest('hex').slice(0, 16);
    }),
  };
}
