import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { WorkflowFailedError } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow';
import { temporal } from '@temporalio/proto';
import { z } from 'zod';
import { stillStands } from '../batch/still-stands';
import type { AwaitedJob, AwaitJobsInput, AwaitJobsResult, EndedJob } from '../shared/batch-activities';
import type { ConversionJobInput, ConversionJobResult } from '../shared/job';
import { outcomeOfFailure, outcomeOfResult } from '../shared/job-outcome';
import { runBatchStep } from './batch-step';

/** Jobs end close together: to wait a moment for others costs less than to begin anew for each. Grows with their number. */
const gatherMs = 200;
const gatherMsPerJob = 3;
/** The server limits long polls; the jobs beyond so many are looked at when these have passed. */
const pollsAtATime = 100;
const pollMs = 10_000;
const looksAtATime = 50;
const closeEvent = temporal.api.enums.v1.HistoryEventFilterType.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT;

/** What tells whether two jobs make the same file. */
const comparable = z.object({
  app: z.string(),
  source: z.object({ uri: z.string() }),
  output: z.string(),
  input: z.string().optional(),
  destination: z.string().optional(),
});

interface Execution {
  workflowId: string;
  runId: string;
}

/**
 * Waits, as long as it takes, until at least one of the jobs has ended, by long polls on their results. Repeat-safe.
 *
 * A job that does not exist is told as not started: it is never waited for.
 */
export function createAwaitJobs() {
  return ({ jobs }: AwaitJobsInput): Promise<AwaitJobsResult> =>
    runBatchStep(async ({ context: { client }, signal }) => {
      for (let first = 0; ; first = (first + pollsAtATime) % jobs.length) {
        const ended = await lookAt(client, jobs, signal);
        if (ended.length === jobs.length) return { ended };
        if (ended.length > 0) {
          const known = new Set(ended.map(({ workflowId }) => workflowId));
          const open = jobs.filter(({ workflowId }) => !known.has(workflowId));
          await sleep(gatherMs + gatherMsPerJob * open.length, undefined, { signal }).catch(() => undefined);
          return { ended: [...ended, ...(await lookAt(client, open, signal))] };
        }
        await untilOneCloses(
          client,
          [...jobs, ...jobs].slice(first, first + Math.min(pollsAtATime, jobs.length)),
          signal,
        );
      }
    });
}

/** Those that have ended by now. */
async function lookAt(client: Client, jobs: readonly AwaitedJob[], signal: AbortSignal): Promise<EndedJob[]> {
  const ended: EndedJob[] = [];
  for (let first = 0; first < jobs.length; first += looksAtATime) {
    signal.throwIfAborted();
    const looks = jobs.slice(first, first + looksAtATime).map((job) => endOf(client, job));
    ended.push(...(await Promise.all(looks)).flatMap((end) => end ?? []));
  }
  return ended;
}

/** Undefined while it runs. */
async function endOf(client: Client, { workflowId, runId, expected }: AwaitedJob): Promise<EndedJob | undefined> {
  try {
    const found = await client.workflow.getHandle(workflowId, runId).describe();
    if (found.status.name === 'RUNNING') return undefined;
    const execution = { workflowId, runId: found.runId };
    const { value, outcome } = await resultOf(client, execution);
    if (!expected) return { ...execution, outcome };
    const isSame = value !== undefined && isSameJob(expected, await inputOf(client, execution));
    const isOurs = isSame && (await stillStands(sourceUri(expected), value));
    return { ...execution, outcome: isOurs ? outcome : 'notOurs' };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { workflowId, outcome: 'notStarted' };
    throw error;
  }
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

function sourceUri({ source }: ConversionJobInput): string {
  return 'uri' in source ? source.uri : '';
}

async function resultOf(client: Client, { workflowId, runId }: Execution) {
  try {
    const value = (await client.workflow.getHandle(workflowId, runId).result()) as ConversionJobResult;
    return { value, outcome: outcomeOfResult(value) };
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    return { value: undefined, outcome: outcomeOfFailure(error.cause) };
  }
}

async function inputOf(client: Client, execution: Execution): Promise<unknown> {
  const { namespace, loadedDataConverter } = client.options;
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    namespace,
    execution,
    maximumPageSize: 1,
  });
  const payloads = history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads;
  return (await decodeArrayFromPayloads(loadedDataConverter, payloads))[0];
}

function isSameJob(expected: ConversionJobInput, found: unknown): boolean {
  const [one, other] = [comparable.safeParse(expected), comparable.safeParse(found)];
  return one.success && other.success && JSON.stringify(one.data) === JSON.stringify(other.data);
}
