import {
  WorkflowContinuedAsNewError,
  WorkflowFailedError,
  type Client,
  type WorkflowExecutionDescription,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { contentAsDelivered, namedByHand, recallLeft, type Left } from '../batch/recall';
import { findWorkflow } from '../history/find-workflow';
import { readJobHistory, readRun, type JobHistory } from '../history/job-history';
import { type RecallJobInput, type RecallJobResult, failureCodes } from '../job/activities';
import { placeOf, type JobOutcome } from '../job/types';
import { conversionJobType } from '../job/names';
import { defined } from '../job/defined';
import type { EarlierRuns } from '../job/charge';
import { markOf, outcomeOfFailure, outcomeOfResult, rowOfEarlier } from '../job/job-outcome';
import { optionsKey } from '../job/parameters';
import { shellWord } from '../messages/wording';
import type { FileStore } from '../storage/file-store';
import { lastRun, runBeforeReset } from './last-run';

export interface RecallTools {
  client: Client;
  files: FileStore;
  signal?: AbortSignal | undefined;
}

type JobIdentity = RecallJobInput['job'];

/** Whether two jobs make the same file from the same source. */
export function isSameJob(one: JobIdentity, other: JobIdentity): boolean {
  return keyOf(one) === keyOf(other);
}

function keyOf(job: JobIdentity): string {
  const { destination } = job;
  return JSON.stringify([sourceKeyOf(job), optionsKey(job), destination === undefined ? null : placeOf(destination)]);
}

function sourceKeyOf({ app, source }: Pick<JobIdentity, 'app' | 'source'>): string {
  return JSON.stringify([app, 'uri' in source ? placeOf(source.uri) : { connector: source.connector }]);
}

/** Decides what the next run of a job does about the last one, by the table of docs/repetition.md. Sends nothing. */
export async function recallJob(
  tools: RecallTools,
  workflowId: string,
  input: RecallJobInput,
): Promise<RecallJobResult> {
  const { job, recall } = input;
  const { onUnknownOutcome, again, isSingle, isRetry } = recall;
  const { left, outcome, open, isOlder } = await readLeft(tools, workflowId, input);
  const recalled = await recallLeft(optionsOf(job), left, { ...tools, rules: { onUnknownOutcome, again } });
  switch (recalled.kind) {
    case 'keep': {
      const named = await namedByHand(job.destination ?? '', recalled.outcome, tools);
      if (named) return { kind: 'done', outcome: { status: 'succeeded', charge: left.charge, ...named } };
      return { kind: 'keep', outcome: adviseResubmit(recalled.outcome, workflowId) };
    }
    case 'start': {
      const { isNewContent } = recalled;
      const isOther = isRetry && isNewContent && !again && !isOlder && left.charge !== 'no';
      if (isOther) return { kind: 'keep', outcome: sourceChanged(left, workflowId) };
      // If a caller waits for the result, `onExisting` decides what is replaced. A retry can't set it, and replaces the result of its
      // last run.
      const output = isSingle && !isRetry ? undefined : left.output;
      // Includes the stamp, so that no step of the job has to read the file again.
      const replaces = output && (await contentAsDelivered(tools.files, output, tools.signal));
      const isFetched = recalled.earlier?.taskId !== undefined;
      const marked = open && defined({ charge: 'maybe' as const, possiblyChargedExtra: open.possiblyChargedExtra });
      const earlier = isFetched ? recalled.earlier : (marked ?? recalled.earlier);
      return { kind: 'start', ...defined({ earlier, replaces }) };
    }
    case 'done':
      break;
  }
  const { source, isMissing } = recalled;
  const { taskId, possiblyChargedExtra, output } = left;
  if (!isMissing || !isSingle) {
    return { kind: 'done', outcome: { ...outcome, ...defined({ source, missing: isMissing || undefined }) } };
  }
  if (taskId === undefined) return { kind: 'keep', outcome: resultGone(outcome, output?.uri ?? '') };
  const earlier = defined({ charge: 'yes' as const, taskId, source, delivered: true as const, possiblyChargedExtra });
  return { kind: 'start', earlier };
}

interface LastLeft {
  left: Left;
  outcome: JobOutcome;
  /** What a later run with another source or other options has left open: it marks whatever is submitted next. */
  open?: Left | undefined;
  /** A later run of this very conversion has left nothing. */
  isOlder?: boolean;
}

/**
 * State left by the last run of this very conversion. A run that left nothing of its own is skipped for the run that it recalls. What
 * can't be read may have been charged, unless a later run of the conversion has told.
 */
async function readLeft(
  { client }: RecallTools,
  workflowId: string,
  { job, recall, known }: RecallJobInput,
): Promise<LastLeft> {
  const options = optionsOf(job);
  const failed: JobOutcome = { status: 'failed', charge: 'no' };
  let other: Left | undefined;
  let nothing: LastLeft | undefined;
  for await (const seen of runsBefore(client, workflowId, recall.runId)) {
    if (seen === 'unreadable') {
      if (nothing) break;
      const charge = known?.charge === 'yes' ? 'yes' : 'maybe';
      return { left: { ...known, charge, options }, outcome: unreadableJob };
    }
    const { run, history } = seen;
    const { input } = history;
    if (sourceKeyOf(job) !== sourceKeyOf(input)) {
      // A run of another source counts only if the ledger names it for an open charge.
      if (known?.runId !== run.runId || known.charge === 'no') continue;
      const left = { ...known, options };
      if (known.charge === 'yes') return { left, outcome: failed };
      other ??= left;
      continue;
    }
    const outcome = await outcomeOf(client, run, history);
    const left = leftBy(history, outcome, optionsOf(input));
    if (!isSameJob(job, input)) other ??= left;
    else if (known && !input.recall && !input.earlier && (await isForgotten(client, workflowId, known))) {
      return withForgotten({ left, outcome }, { ...known, options });
    } else if (leftNothing(history, left)) nothing ??= { left, outcome };
    else return { left, outcome, open: openOf(other), isOlder: nothing !== undefined };
  }
  if (nothing) return { ...nothing, open: openOf(other) };
  // The run that the ledger names is none of those above, so it converted something else.
  if (known?.charge === 'maybe' && known.runId !== undefined && !(await isForgotten(client, workflowId, known)))
    return { left: { charge: 'no', options }, outcome: failed, open: { ...known, options } };
  if (known) return { left: { ...known, options }, outcome: failed };
  return { left: { charge: 'no', options }, outcome: failed, open: openOf(other) };
}

/**
 * The last run, then each that it recalls. A run that ended before its decision is skipped; a reset run that has submitted nothing
 * since, for the run before it. The first run that can't be read is the last one.
 */
async function* runsBefore(
  client: Client,
  workflowId: string,
  found: string,
): AsyncGenerator<{ run: WorkflowExecutionDescription; history: JobHistory } | 'unreadable'> {
  let run = await lastRun(client, workflowId, found);
  // Otherwise the id belongs to a workflow of another type.
  while (!run || run.type === conversionJobType) {
    const history = run && (await readHistory(client, run));
    if (!run || !history) {
      yield 'unreadable';
      return;
    }
    const { input, recalled, result, reset } = history;
    const isBehind = reset?.isTakenUp === false && !isDelivered(history);
    const hasDecided = !input.recall || recalled?.kind === 'start' || result !== undefined;
    if (!isBehind && hasDecided) yield { run, history };
    if (reset) run = await runBeforeReset(client, run, reset.from);
    else if (input.recall) run = await findWorkflow(client, workflowId, input.recall.runId);
    else return;
  }
}

/**
 * The run has submitted nothing that may have been charged, and did not have to settle an open charge of the run before. Or it ended before
 * it had read its source, and cannot tell which content that charge is for.
 */
function leftNothing({ input, recalled }: JobHistory, { charge, taskId, source, possiblyChargedExtra }: Left): boolean {
  const earlier = recalled?.kind === 'start' ? recalled.earlier : input.earlier;
  if (earlier?.delivered) return charge === 'no' || taskId === earlier.taskId;
  const isUntouched = charge === earlier?.charge && possiblyChargedExtra === earlier.possiblyChargedExtra;
  if (charge === 'maybe' && isUntouched && !source && input.recall) return true;
  return charge === 'no' && (earlier?.charge ?? 'no') === 'no';
}

/** A batch's ledger knows what Temporal no longer does: that a run which is gone may have been charged. */
async function isForgotten(client: Client, workflowId: string, { charge, runId }: EarlierRuns): Promise<boolean> {
  return charge !== 'no' && runId !== undefined && !(await findWorkflow(client, workflowId, runId));
}

/** For a job that started without knowing of the run that is gone. */
function withForgotten({ left, outcome }: { left: Left; outcome: JobOutcome }, gone: Left) {
  if (left.charge === 'no') return { left: gone, outcome: unreadableJob };
  const marks = markOf((left.possiblyChargedExtra ?? 0) + (gone.possiblyChargedExtra ?? 0) + 1);
  return { left: { ...left, ...marks }, outcome: { ...outcome, ...marks } };
}

function openOf(left: Left | undefined): Left | undefined {
  return left?.charge === 'no' || left?.delivered || left?.suspect ? undefined : left;
}

async function readHistory(client: Client, run: WorkflowExecutionDescription): Promise<JobHistory | undefined> {
  const { events } = await client.workflow.getHandle(run.workflowId, run.runId, { followRuns: false }).fetchHistory();
  try {
    return await readJobHistory(events, client.options.loadedDataConverter);
  } catch {
    // Encrypted with a key that is gone or not ours.
    return undefined;
  }
}

/** How a run of a job ended, and the state that it left at the service. */
export async function outcomeOf(
  client: Client,
  run: WorkflowExecutionDescription,
  known?: JobHistory,
): Promise<JobOutcome> {
  const handle = client.workflow.getHandle(run.workflowId, run.runId, { followRuns: false });
  try {
    return outcomeOfResult((await handle.result()) as Parameters<typeof outcomeOfResult>[0]);
  } catch (error) {
    const isFailed = error instanceof WorkflowFailedError;
    // Temporal's own retry of a run, for example after a timeout, ends the run this way.
    if (!isFailed && !(error instanceof WorkflowContinuedAsNewError)) throw error;
    const cause = isFailed ? error.cause : error;
    const outcome = outcomeOfFailure(cause);
    if (outcome.charge !== undefined && cause instanceof ApplicationFailure) return outcome;
    // The job ended without reporting its charge.
    const { charge, requests } = known ?? (await readRun(client, run));
    return { ...outcome, ...rowOfEarlier(charge), requests };
  }
}

/** A skipped job has delivered nothing, even if the file in its place is its own from before a reset. */
function isDelivered({ result }: JobHistory): boolean {
  return result?.status === 'succeeded' || result?.recalled === true;
}

function leftBy(history: JobHistory, outcome: JobOutcome, options: Left['options']): Left {
  const { charge: known } = history;
  const source = outcome.source ?? known.source;
  const { charge = 'maybe', taskId = known.taskId, possiblyChargedExtra, output } = outcome;
  const left = defined({ charge, taskId, source, possiblyChargedExtra });
  if (isDelivered(history)) return { ...left, options, delivered: true, output };
  const { code, message, phase } = outcome;
  const isSuspect = outcome.status === 'suspect';
  const status = isSuspect ? ('suspect' as const) : ('failed' as const);
  const kept = { status, ...defined({ code, message, phase }), ...rowOfEarlier(left) };
  return { ...left, options, ...(isSuspect && { suspect: true }), outcome: { ...kept, ...defined({ output }) } };
}

function optionsOf({ source, output, input, parameters }: JobIdentity) {
  return { ...defined({ source: 'uri' in source ? source.uri : undefined, input, parameters }), output };
}

const unreadableJob: JobOutcome = {
  status: 'failed',
  code: failureCodes.jobLost,
  message:
    'Temporal no longer has the history of the last run of this job, so it is not known whether its conversion ran.',
  charge: 'maybe',
};

function adviseResubmit(outcome: JobOutcome, workflowId: string): JobOutcome {
  const { message = '' } = outcome;
  if (outcome.status === 'suspect' || message.includes('--resubmit')) return outcome;
  const advice = `Nothing was sent again. Look at the service; to convert all the same, and maybe pay twice: fileconv job retry ${shellWord(workflowId)} --resubmit`;
  return { ...outcome, message: `${message} ${advice}`.trim() };
}

function sourceChanged(left: Left, workflowId: string): JobOutcome {
  const message = `The file has changed since the last run uploaded it. Nothing was fetched or sent. To convert it as it is now: fileconv job retry ${shellWord(workflowId)} --again`;
  return { status: 'failed', code: failureCodes.sourceChanged, message, ...rowOfEarlier(left) };
}

function resultGone({ charge, taskId, source }: JobOutcome, uri: string): JobOutcome {
  const message = `It was converted before, and the result is not at ${uri} any more. To convert it again, and pay again: the same command with --again`;
  return { status: 'failed', code: failureCodes.resultGone, message, ...defined({ charge, taskId, source }) };
}
