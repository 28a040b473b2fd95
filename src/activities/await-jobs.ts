import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import type { AwaitedJob, AwaitJobsInput, AwaitJobsResult, SeenJob } from '../batch/model/activities';
import { isOfServer } from '../history/grpc';
import { defined } from '../job/defined';
import { batchStep, type ActivityDependencies } from './activity-attempt';
import { lookAtJob, type LookTools, unreadableJob } from './look-at-job';

/** Wait before each look: jobs often end together, and one round for several is cheaper. Grows with the number of jobs. */
const gatherMs = 200;
const gatherMsPerJob = 3;
/** The server limits long polls; further jobs are polled in the next round. */
const pollsAtATime = 100;
const pollMs = 10_000;
const looksAtATime = 50;
const closeEvent = temporal.api.enums.v1.HistoryEventFilterType.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT;

/** An attempt that sees no job end returns its slot after this time and retries; neither adds to the history. */
const holdMs = 20_000;
const backAfterMs = 500;
/** Pause after an attempt that got no slot to wait in and only looked once; grows with the number of jobs. */
const lookAgainMs = 2_000;
const lookAgainMsPerJob = 20;
/** Limit of one result, in characters; Temporal accepts 2 MiB. */
const maxAnswerCharacters = 400_000;

type Tools = Required<LookTools>;

/**
 * Waits without limit until a job has ended, by long polls; if all jobs have `expected`, returns their state at once. Idempotent.
 * Waiting occupies a slot that the jobs need: an attempt returns it if no job ends for a while, and does not wait at all if too many
 * slots already wait.
 */
export function createAwaitJobs({ waits: slots, files }: Pick<ActivityDependencies, 'waits' | 'files'>) {
  return batchStep(async ({ jobs }: AwaitJobsInput, { signal }, client): Promise<AwaitJobsResult> => {
    const tools = { client, files, signal };
    if (jobs.every(({ expected }) => expected)) return answer(await lookAtAll(tools, jobs));
    return slots.use(async (isFree) => {
      const ended = await untilSomeEnd(tools, jobs, isFree ? holdMs : 0);
      if (ended.length > 0) return answer(ended);
      throw stillRunning(jobs.length, isFree ? backAfterMs : lookAgainMs + lookAgainMsPerJob * jobs.length);
    });
  });
}

/** The jobs that have ended; empty if none ended in time. */
async function untilSomeEnd(tools: Tools, awaited: readonly AwaitedJob[], patienceMs: number): Promise<SeenJob[]> {
  const { client, signal } = tools;
  const deadline = performance.now() + patienceMs;
  let jobs = awaited;
  for (let first = 0; ; first = (first + pollsAtATime) % jobs.length) {
    await sleep(gatherMs + gatherMsPerJob * jobs.length, undefined, { signal }).catch(() => undefined);
    const seen = await lookAtAll(tools, jobs);
    const ended = seen.filter(hasEnded);
    // A job that was reset has a new run.
    jobs = jobs.map((job, index) => ({ ...job, ...defined({ runId: seen[index]?.runId }) }));
    if (ended.length > 0 || performance.now() >= deadline) return ended;
    await untilOneCloses(client, [...jobs, ...jobs].slice(first, first + Math.min(pollsAtATime, jobs.length)), signal);
  }
}

/** A job that does not exist counts as ended: there is nothing to wait for. */
function hasEnded({ runId, outcome }: SeenJob): boolean {
  return runId === undefined || outcome !== undefined;
}

async function lookAtAll(tools: Tools, jobs: readonly AwaitedJob[]): Promise<SeenJob[]> {
  const { signal } = tools;
  const seen: SeenJob[] = [];
  for (let first = 0; first < jobs.length; first += looksAtATime) {
    signal.throwIfAborted();
    const looks = jobs.slice(first, first + looksAtATime).map(async (job, index) => ({
      job: first + index,
      ...(await lookAtJob(tools, job).catch((error: unknown) => {
        signal.throwIfAborted();
        if (isOfServer(error)) throw error;
        return unreadableJob(job, error);
      })),
    }));
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

/** Resolves when a job may have ended, or after `pollMs`. The caller checks the jobs, so poll errors are ignored. */
async function untilOneCloses(client: Client, jobs: readonly AwaitedJob[], signal: AbortSignal): Promise<void> {
  const { namespace } = client.options;
  const over = new AbortController();
  const deadline = Date.now() + pollMs;
  // A worker's connection can't cancel a call, so each call has its own deadline.
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
