import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import type { AwaitedJob, AwaitJobsInput, AwaitJobsResult, SeenJob } from '../shared/batch-activities';
import type { WaitSlots } from './app-slots';
import { runBatchStep } from './batch-step';
import { lookAtJob } from './look-at-job';

/** Jobs end close together: to wait a moment for others costs less than to begin anew for each. Grows with their number. */
const gatherMs = 200;
const gatherMsPerJob = 3;
/** The server limits long polls; the jobs beyond so many are looked at when these have passed. */
const pollsAtATime = 100;
const pollMs = 10_000;
const looksAtATime = 50;
const closeEvent = temporal.api.enums.v1.HistoryEventFilterType.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT;

/** An attempt that heard of no end gives its slot back, and comes again; neither adds to the history. */
const holdMs = 20_000;
const backAfterMs = 500;
/** Of one that found too many others waiting: it only looks, and the more jobs there are the more seldom. */
const lookAgainMs = 2_000;
const lookAgainMsPerJob = 20;
/** What a workflow is told at a time; Temporal takes 2 MiB. */
const maxAnswerCharacters = 400_000;

/**
 * Waits until at least one of the jobs has ended, by long polls on their results, however long that takes; or looks at all of them once. Repeat-safe.
 *
 * Waiting takes a slot of the worker that the jobs need: an attempt gives it back after a while without news, and takes none where a part of the
 * slots is taken so already.
 */
export function createAwaitJobs(slots: WaitSlots) {
  return ({ jobs, looksOnce }: AwaitJobsInput): Promise<AwaitJobsResult> =>
    runBatchStep(async ({ context: { client }, signal }) => {
      if (looksOnce) return answer(await lookAtAll(client, jobs, signal));
      return slots.use(async (isFree) => {
        const ended = await untilSomeEnd(client, jobs, { signal, holdMs: isFree ? holdMs : 0 });
        if (ended.length > 0) return answer(ended);
        throw stillRunning(jobs.length, isFree ? backAfterMs : lookAgainMs + lookAgainMsPerJob * jobs.length);
      });
    });
}

/** Those that have ended; none when none has in that time. */
async function untilSomeEnd(
  client: Client,
  jobs: readonly AwaitedJob[],
  { signal, holdMs: patienceMs }: { signal: AbortSignal; holdMs: number },
): Promise<SeenJob[]> {
  const deadline = performance.now() + patienceMs;
  for (let first = 0; ; first = (first + pollsAtATime) % jobs.length) {
    const ended = (await lookAtAll(client, jobs, signal)).filter(hasEnded);
    if (ended.length === jobs.length) return ended;
    if (ended.length > 0) {
      const open = jobs.length - ended.length;
      await sleep(gatherMs + gatherMsPerJob * open, undefined, { signal }).catch(() => undefined);
      return (await lookAtAll(client, jobs, signal)).filter(hasEnded);
    }
    if (performance.now() >= deadline) return [];
    await untilOneCloses(client, [...jobs, ...jobs].slice(first, first + Math.min(pollsAtATime, jobs.length)), signal);
  }
}

/** A job that does not exist is told of too: it is never waited for. */
function hasEnded({ runId, outcome }: SeenJob): boolean {
  return runId === undefined || outcome !== undefined;
}

async function lookAtAll(client: Client, jobs: readonly AwaitedJob[], signal: AbortSignal): Promise<SeenJob[]> {
  const seen: SeenJob[] = [];
  for (let first = 0; first < jobs.length; first += looksAtATime) {
    signal.throwIfAborted();
    const looks = jobs
      .slice(first, first + looksAtATime)
      .map(async (job, index) => ({ job: first + index, ...(await lookAtJob(client, job, signal)) }));
    seen.push(...(await Promise.all(looks)));
  }
  return seen;
}

function answer(all: readonly SeenJob[]): AwaitJobsResult {
  const seen: SeenJob[] = [];
  let characters = 0;
  for (const each of all) {
    characters += JSON.stringify(each).length;
    if (characters > maxAnswerCharacters && seen.length > 0) break;
    seen.push(each);
  }
  return { seen };
}

function stillRunning(jobs: number, nextRetryDelay: number): ApplicationFailure {
  return ApplicationFailure.create({
    message: `None of ${jobs} jobs has ended yet.`,
    type: 'JOBS_RUNNING',
    nextRetryDelay,
    category: ApplicationFailureCategory.BENIGN,
  });
}

/** Resolves when one of them may have ended, or after a while. What the polls themselves say, errors included, is looked at afterwards. */
async function untilOneCloses(client: Client, jobs: readonly AwaitedJob[], signal: AbortSignal): Promise<void> {
  const { namespace } = client.options;
  const over = new AbortController();
  const deadline = Date.now() + pollMs;
  // A worker's connection can't break a call off, so each ends by a deadline of its own.
  const polls = jobs.map(({ workflowId, runId }) =>
    client.withDeadline(deadline, async () => {
      const { history } = await client.workflowService.getWorkflowExecutionHistory({
        namespace,
        execution: { workflowId, ...(runId !== undefined && { runId }) },
        waitNewEvent: true,
        historyEventFilterType: closeEvent,
        skipArchival: true,
      });
      if (!history?.events?.length) throw new Error('still running');
    }),
  );
  const passed = sleep(pollMs, undefined, { signal: AbortSignal.any([signal, over.signal]) }).catch(() => undefined);
  await Promise.race([Promise.any(polls).catch(() => passed), passed]);
  over.abort();
  signal.throwIfAborted();
}
