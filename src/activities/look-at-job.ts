import { WorkflowFailedError, type Client, type WorkflowExecutionDescription } from '@temporalio/client';
import { z } from 'zod';
import { hashFile, sameContent } from '../batch/contents';
import { readJobHistory } from '../history/job-history';
import { findWorkflow, readStartInput } from '../history/find-workflow';
import type { AwaitedJob, JobOutcome, SeenJob } from '../shared/batch-activities';
import type { ConversionJobInput, ConversionJobResult } from '../shared/job';
import { parametersKey, type ConversionParameters } from '../shared/parameters';
import { outcomeOfFailure, outcomeOfResult, isOpen, rowOfEarlier } from '../shared/job-outcome';
import { runBeforeMemo } from '../shared/search-attributes';
import { StorageError } from '../storage/errors';
import type { FileStore } from '../storage/file-store';

type Seen = Omit<SeenJob, 'job'>;

/** The fields that decide whether two jobs make the same file. */
const comparable = z.object({
  app: z.string(),
  source: z.object({ uri: z.string() }),
  output: z.string(),
  input: z.string().optional(),
  parameters: z
    .record(z.string(), z.unknown())
    .optional()
    .transform((each) => parametersKey(each as ConversionParameters)),
  destination: z.string().optional(),
});

/** A row's number may change between runs, so one id may have been used by jobs of several rows. */
const maxRunsBefore = 20;

/** Where to look: for the job, and for its files. */
export interface Seers {
  client: Client;
  files: FileStore;
}

/** State of a job that this run of the batch did not start. */
export async function lookAtJob({ client, files }: Seers, job: AwaitedJob, signal: AbortSignal): Promise<Seen> {
  const found = await findWorkflow(client, job.workflowId, job.runId);
  if (!found) return {};
  const { expected } = job;
  if (!expected) return isOpen(found) ? { runId: found.runId } : endOf(client, found);
  const same = await runThatDoes(expected, client, found);
  if (!same)
    return isOpen(found) ? { runId: found.runId, isSame: false } : { ...(await endOf(client, found)), isSame: false };
  if (isOpen(same)) return { runId: same.runId, isSame: true };
  const end = await endOf(client, same);
  try {
    return { ...end, isSame: true, ...(await compareFiles(files, { expected, outcome: end.outcome, signal })) };
  } catch (error) {
    if (!(error instanceof StorageError) || !error.retryable) throw error;
    // Other jobs do not wait until its files can be read: it counts as open until then.
    return { runId: same.runId, isSame: true };
  }
}

/** This run, or an earlier one under its id, that does what is expected. */
async function runThatDoes(
  expected: ConversionJobInput,
  client: Client,
  newest: WorkflowExecutionDescription,
): Promise<WorkflowExecutionDescription | undefined> {
  let run: WorkflowExecutionDescription | undefined = newest;
  for (let looks = 0; run && looks < maxRunsBefore; looks += 1) {
    if (isSameJob(expected, await readStartInput(client.workflow, run))) return run;
    const before: unknown = run.memo?.[runBeforeMemo];
    run = typeof before === 'string' ? await findWorkflow(client, run.workflowId, before) : undefined;
  }
  return undefined;
}

async function endOf(client: Client, run: WorkflowExecutionDescription): Promise<Seen & { outcome: JobOutcome }> {
  const endedAt = run.closeTime?.getTime();
  const outcome = await outcomeOf(client, run);
  return { runId: run.runId, outcome, ...(endedAt !== undefined && { endedAt }) };
}

async function outcomeOf(client: Client, { workflowId, runId }: WorkflowExecutionDescription): Promise<JobOutcome> {
  const handle = client.workflow.getHandle(workflowId, runId, { followRuns: false });
  try {
    return outcomeOfResult((await handle.result()) as ConversionJobResult);
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    const outcome = outcomeOfFailure(error.cause);
    if (outcome.charge !== undefined) return outcome;
    const { events } = await handle.fetchHistory();
    // The job ended without reporting what it left behind at the service.
    const { charge } = await readJobHistory(events, client.options.loadedDataConverter);
    return { ...outcome, ...rowOfEarlier(charge) };
  }
}

async function compareFiles(
  files: FileStore,
  { expected, outcome, signal }: { expected: ConversionJobInput; outcome: JobOutcome; signal: AbortSignal },
): Promise<Pick<Seen, 'isDelivered' | 'isSameContent'>> {
  const { source } = expected;
  const { output, source: content } = outcome;
  const written = output && (await hashFile(files, output.uri, signal));
  const isSameContent =
    !content || ('uri' in source && (await sameContent(files, source.uri, { content, signal })) !== undefined);
  return { isDelivered: written !== undefined && written.sha256 === output?.sha256, isSameContent };
}

function isSameJob(expected: ConversionJobInput, found: unknown): boolean {
  const [one, other] = [comparable.safeParse(expected), comparable.safeParse(found)];
  return one.success && other.success && JSON.stringify(one.data) === JSON.stringify(other.data);
}
