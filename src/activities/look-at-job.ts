import type { Client } from '@temporalio/client';
import { findWorkflow, firstRunOf, readStartInput } from '../history/find-workflow';
import { isOfServer } from '../history/grpc';
import { isSameJob, outcomeOf } from '../recall/recall-job';
import { readRunning, type RunningJob } from '../recall/running-job';
import type { FileStore } from '../storage/file-store';
import type { AwaitedJob, SeenJob } from '../batch/model/activities';
import { defined } from '../job/defined';
import type { ConversionJobInput } from '../job/types';
import { isOpen } from '../job/job-outcome';
import { failureCodes } from '../job/activities';
import { conversionJobType } from '../job/names';

type Seen = Omit<SeenJob, 'job'>;

export interface LookTools {
  client: Client;
  files: FileStore;
  signal?: AbortSignal;
}

/** State of a job that this run of the batch did not start. */
export async function lookAtJob(tools: LookTools, { workflowId, runId, expected }: AwaitedJob): Promise<Seen> {
  const { client } = tools;
  const found = await findRun(client, workflowId, runId);
  if (!found) return {};
  const seen = { runId: found.runId };
  // A finished workflow does not block a new one with the same id.
  const hasEnded = expected && !isOpen(found);
  const ended = { ...seen, existing: { isOpen: false, isSame: false, source: '' } };
  if (found.type !== conversionJobType) {
    if (hasEnded) return ended;
    throw new Error(`it is a ${found.type}`);
  }
  if (expected) {
    const asked = await (isOpen(found) ? readRunning(tools, found) : readEnded(tools, found)).catch(
      (error: unknown) => {
        if (!hasEnded || isOfServer(error)) throw error;
        return undefined;
      },
    );
    // The next job under this id finds the history unreadable and decides by that.
    if (!asked) return ended;
    const { input: job, isChanged } = asked;
    const source = 'uri' in job.source ? job.source.uri : job.source.connector;
    const startedBy = found.parentExecution?.workflowId ?? undefined;
    const existing = { isOpen: isOpen(found), isSame: isSameJob(expected, job), source };
    return { ...seen, existing: { ...existing, ...defined({ isChanged, startedBy }) } };
  }
  return isOpen(found) ? seen : { ...seen, outcome: await outcomeOf(client, found) };
}

async function readEnded({ client }: LookTools, run: { workflowId: string; runId: string }): Promise<RunningJob> {
  return { input: (await readStartInput(client.workflow, run)) as ConversionJobInput };
}

/** A reset terminates a run and starts another, which is still the same job. */
async function findRun(client: Client, workflowId: string, runId: string | undefined) {
  const found = await findWorkflow(client, workflowId, runId);
  if (runId === undefined || found?.status.name !== 'TERMINATED') return found;
  const latest = await findWorkflow(client, workflowId);
  return latest && firstRunOf(latest) === firstRunOf(found) ? latest : found;
}

/** Outcome of a job that can never be read, so that it does not block the others. */
export function unreadableJob(job: AwaitedJob, error: unknown): Seen {
  const reason = error instanceof Error ? error.message : String(error);
  const message = `It is not known whether the conversion of job ${job.workflowId} ran: its history can't be read (${reason}).`;
  return {
    runId: job.runId ?? '',
    outcome: { status: 'failed', code: failureCodes.jobLost, message, charge: 'maybe' },
  };
}
