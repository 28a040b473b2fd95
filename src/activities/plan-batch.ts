import type { Client } from '@temporalio/client';
import { readBatchItems } from '../batch/batch-steps';
import { restoreFailed } from '../batch/move-sources';
import { Findings, RefusedPlanError } from '../batch/findings';
import { planBatch } from '../batch/plan/plan-batch';
import { allOf, summaryOf } from '../batch/plan/planned-batch';
import { askingOf, type FormatQuestions } from '../batch/plan/settle-row';
import { estimateVcredits } from '../batch/prices';
import { saveRequest } from '../batch/request';
import { removeOldRuns } from '../batch/run-folders';
import { shownFolder } from '../batch/uris';
import { hidesPayloads } from '../encryption/data-converter';
import { findWorkflow } from '../history/find-workflow';
import type { ConversionApi } from '../http/conversion-api';
import { answerAboutPair } from '../http/pair-answer';
import { eventsOf, type NotifySettings } from '../notices/send-notice';
import { defined } from '../job/defined';
import type { SourceMoves } from '../batch/model/types';
import { firstRead, type WorkerSettings, type PlanBatchInput, type PlanBatchResult } from '../batch/model/activities';
import type { Stores } from '../storage/stores';
import { batchStep, type ActivityDependencies } from './activity-attempt';

/**
 * Plans a run of a batch: the files that are new or changed since the last run. Idempotent: a lost attempt at most leaves a
 * run that never started, which the next attempt ignores.
 */
export function createPlanBatch({ files, api, notify }: Pick<ActivityDependencies, 'files' | 'api' | 'notify'>) {
  const asPlan = { step: 'plan', notifies: eventsOf(notify) } as const;
  return batchStep(
    async (input: PlanBatchInput, { signal, jobKey, attempt, workflowId }, client): Promise<PlanBatchResult> => {
      const { request, tags, onUnknownOutcome, again } = input;
      const { app, onExisting, isScheduled } = request;
      const { stdin, ...plan } = request.plan;
      const writing = { jobKey, attempt, signal };
      const { unmoved, restored } = await prepareMoves(files, plan.moves, { batch: workflowId, signal });
      const planned = await planBatch({
        ...plan,
        ...{ files, onUnknownOutcome, again, restored, writing, signal },
        ask: askingOf(
          questions(() => api(app), signal),
          onExisting,
        ),
        hasLaterJob: async ({ workflowId, runId }) => {
          if (workflowId === undefined) return false;
          const latest = await findWorkflow(client, workflowId);
          return latest !== undefined && latest.runId !== runId;
        },
        // A retry whose files were all removed has nothing to do.
        mayBeEmpty: isScheduled ?? plan.moves !== undefined,
        // A manual run sends files again that the service has refused before.
        heedsRefusals: isScheduled,
        // A schedule would make such a run, and send a notice of its end, in every sweep.
        ...(isScheduled && { maxVcredits: request.maxVcredits }),
        ...(stdin !== undefined && { piped: files.read(stdin, { signal }) }),
      });
      const { run, rows, problems, totals } = planned;
      if (problems.count > 0) throw new RefusedPlanError(problems, planned.warnings);
      await removeOldRuns(files, plan.folder);
      if (run) await saveRequest(files, plan.folder, defined({ request, tags }), writing);
      const spent = request.maxVcredits === undefined ? undefined : planned.spent;
      const warnings = allOf(planned.warnings, unmoved);
      // Only informative, so an unreadable file must not fail the plan.
      const estimating = { app, batchFolder: plan.folder, formats: planned.formats, run, signal };
      const estimate =
        run && !isScheduled ? await estimateVcredits(files, estimating).catch(() => undefined) : undefined;
      const answer = {
        planned: { ...summaryOf({ ...planned, warnings }), ...defined({ estimate }) },
        // Without a run, nothing tries what there is to do.
        totals: run ? totals : { ...totals, cancelled: planned.todo },
        ...defined({ spent }),
        ...workerSettings(client, notify),
      };
      if (!run) return answer;
      const { folder } = run;
      return {
        run: { folder, rows },
        first: await readBatchItems(files, { folder, ...firstRead }, signal),
        ...answer,
      };
    },
    asPlan,
  );
}

/** @throws RefusedPlanError before anything is converted that could not be moved afterwards. */
async function prepareMoves(
  files: Stores,
  moves: SourceMoves | undefined,
  { batch, signal }: { batch: string; signal: AbortSignal },
): ReturnType<typeof restoreFailed> {
  const nothing = { unmoved: new Findings(), restored: new Set<string>() };
  if (!moves) return nothing;
  const { from, done = from, failed = from, restores } = moves;
  const problems = new Findings();
  for (const to of [done, failed]) {
    if (files.canMove(from, to)) continue;
    const message = `Files can't be moved from ${shownFolder(from)} to ${shownFolder(to)}: they are in different stores, or in one that moves no files.`;
    problems.add('SOURCE_UNUSABLE', `${message} Make the schedule again without it.`);
  }
  if (problems.count > 0) throw new RefusedPlanError(problems);
  return restores ? restoreFailed(files, { batch, moves }, signal) : nothing;
}

export function workerSettings({ options }: Client, notify: NotifySettings | undefined): WorkerSettings {
  const isHidden = hidesPayloads(options.loadedDataConverter);
  return { ...(isHidden && { hidesNames: true }), ...defined({ notifies: eventsOf(notify) }) };
}

/** Without an answer from the service, no file is refused. */
function questions(api: () => ConversionApi, signal: AbortSignal): FormatQuestions {
  const orUndefined = <Answer>(question: () => Promise<Answer>): Promise<Answer | undefined> =>
    question().catch(() => {
      signal.throwIfAborted();
      return undefined;
    });
  return {
    answerAboutPair: (pair) => orUndefined(async () => answerAboutPair(api(), { ...pair, signal })),
    targets: () =>
      orUndefined(async () => (await api().formats({ sublist: 'outputs', signal })).map(({ format }) => format)),
  };
}
