import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/common';
import {
  ConversionFailedError,
  FileConversionClient,
  inspectJob,
  type JobFilter,
  type JobInspection,
  type ListedJob,
  listJobs,
  type NextStep,
  NotAConversionJobError,
  planRetry,
  possiblyChargedTwiceCode,
  type RetryOptions,
  SearchAttributesMissingError,
  type Waiting,
  workflowPath,
} from 'temporal-file-conversion/client';
import { type ConversionJobResult, lastSegment } from 'temporal-file-conversion/job';
import { fileSize, formatDuration, printable, shellWord, timesCharged } from 'temporal-file-conversion/messages';
import { type FileStore, shownPath } from 'temporal-file-conversion/storage';
import { filesOf } from '../../stores';
import type { CommandContext } from '../../command-context';
import { CommandError, type ExitCode, exitCodes, explaining } from '../../command-error';
import { awaitJob } from '../../convert/await-job';
import { bothTimes, fitMiddle, formatTable, timeCells, timeHeads } from '../../output/text';
import { untilAskedToEnd } from '../../process/asked-to-end';
import type { StackInUse } from '../../stack/connect';
import { openTemporal, withTemporal } from '../../stack/open-temporal';
import { adviceOnWorker, untilText } from '../../waiting/stall';

export async function jobList(context: CommandContext, flags: JobFilter & { limit: number }): Promise<void> {
  const { output } = context;
  const { status, app, code, batch, tag, since, limit } = flags;
  const filter = { status, app, code, batch, tag, since };
  return withTemporal(context, async ({ client, namespace }) => {
    const lack = ({ filters }: SearchAttributesMissingError) =>
      `Namespace ${namespace} has no search attributes to list jobs by ${filters.join(' and ')}. Register them: fileconv namespace init. Without them --status running, completed, failed and cancelled, --batch and --since work.`;
    const list = await listJobs(client, filter, limit).catch(
      explaining(SearchAttributesMissingError, 'STATE_UNUSABLE', lack),
    );
    const { jobs, total, hasSearchAttributes, unreadable } = list;
    if (output.json) {
      output.printJson(list);
      return;
    }
    if (jobs.length === 0) {
      const isFiltered = Object.values(filter).some((value) => value !== undefined);
      output.say(isFiltered ? 'No jobs match.' : 'No jobs.');
    } else {
      const head = ['ID', 'STATUS', 'SUMMARY', ...timeHeads('SINCE'), 'CODE', 'VCREDITS'];
      output.print(formatTable(head, jobs.map(jobRow)));
    }
    if (total > jobs.length) output.say(`${jobs.length} of ${total}; see more with --limit ${total}.`);
    if (unreadable !== undefined) output.warn(`Names in some of these jobs can't be read here. ${unreadable}`);
    if (!hasSearchAttributes) {
      output.warn(
        'The namespace lacks search attributes: codes and vCredits may not be known. Run: fileconv namespace init',
      );
    }
  });
}

/** Limits file names, which may be as long as the file system allows. */
const summaryColumns = 80;

function jobRow(job: ListedJob): string[] {
  const codes = [job.code, job.possiblyChargedTwice ? possiblyChargedTwiceCode : undefined];
  return [
    printable(job.workflowId),
    job.step ?? job.status,
    fitMiddle(printable(job.summary), summaryColumns),
    ...timeCells(job.since),
    printable(codes.filter((code) => code !== undefined).join(', ')),
    job.vcredits === undefined ? '' : String(job.vcredits),
  ];
}

export async function jobShow(context: CommandContext, workflowId: string): Promise<void> {
  const { output } = context;
  return withJob(context, workflowId, async (temporal, job) => {
    const { uiUrl, namespace } = temporal;
    const link = uiUrl && `${uiUrl}${workflowPath(namespace, workflowId, job.runId)}/history`;
    const next = await nextCommand(job, { ...temporal, files: filesOf(context) });
    const lines = [...describe(job, link), ...(next ? ['', `${next.why}: ${next.command}`] : [])];
    output.result({ ...job, uiUrl: link, next: next?.command }, lines.join('\n'));
  });
}

function describe(job: JobInspection, link: string | undefined): string[] {
  const now = Date.now();
  const { phase, status, since, pending, output, error } = job;
  const { source, destination } = job.input;
  const forHow = job.endedAt === undefined ? `, for ${shownDuration(now - since)}` : '';
  const rows: [string, string | undefined][] = [
    ['Job', `${job.workflowId} (${job.summary})`],
    ['State', `${phase ?? status} since ${bothTimes(since)}${forHow}`],
    ['Waits for', job.waiting && waitText(job.waiting, pending)],
    ['Attempt', pending && attemptText(pending, now)],
    ['Last failure', pending?.lastFailure],
    ['Worker', workerText(job)],
    ['Error', error && `${error.code}: ${error.message}`],
    ['Source', 'uri' in source ? shownPath(source.uri) : `connector ${source.connector}`],
    ['Destination', destination === undefined ? 'none: the result stays at the service' : shownPath(destination)],
    ['Output', output && `${shownPath(output.uri)} (${fileSize(output.bytes)}, sha256 ${output.sha256})`],
    ['App', job.app],
    ['Task', job.taskId],
    ['Spent', spentText(job)],
    [
      'Charged',
      job.possiblyChargedTwice ? 'possibly twice: a submit with an unknown outcome was sent again' : undefined,
    ],
    ['Temporal UI', link],
  ];
  const shown = rows.flatMap(([name, value]) => (value === undefined ? [] : [[name, printable(value)]]));
  return shown.map(([name = '', value = '']) => `${name.padEnd(13)} ${value}`);
}

function attemptText({ attempt, underWay, nextAttemptAt }: NonNullable<JobInspection['pending']>, now: number): string {
  if (underWay) return `${attempt}, under way`;
  if (nextAttemptAt === undefined || nextAttemptAt <= now) return `${attempt}, waits for a worker`;
  return `${attempt}, at ${bothTimes(nextAttemptAt)}, in ${shownDuration(nextAttemptAt - now)}`;
}

function waitText(waiting: Waiting, pending: JobInspection['pending']): string {
  const { waitsFor, because } = waiting;
  // The last failure has its own line.
  const lack = because !== undefined && because !== pending?.lastFailure ? `. ${because}` : '';
  return `${waitsFor}${untilText(waiting)}${lack}`;
}

function workerText({ worker, taskQueue }: JobInspection): string | undefined {
  if (worker === 'none') return `none polls task queue ${taskQueue}: the job makes no progress`;
  return worker === 'silent' ? 'does not answer' : undefined;
}

function spentText({ requests, vcredits }: JobInspection): string | undefined {
  if (requests === undefined) return undefined;
  const credits = vcredits === undefined ? '' : `, ${vcredits} vCredit${vcredits === 1 ? '' : 's'}`;
  return `${requests} request${requests === 1 ? '' : 's'}${credits}`;
}

async function nextCommand(
  job: JobInspection,
  { isLocal, client, files }: Pick<StackInUse, 'isLocal' | 'client'> & { files: FileStore },
): Promise<NextStep | undefined> {
  const { workflowId, waiting } = job;
  const id = shellWord(workflowId);
  if (job.status === 'completed') return undefined;
  if (waiting) {
    const seeItContinue = { why: 'See it continue', command: `fileconv job watch ${id}` };
    return waiting.next ?? (waiting.reason === 'worker' ? adviceOnWorker(isLocal) : seeItContinue);
  }
  const { decision } = await planRetry({ client, files }, job);
  const command = `fileconv job retry ${id}`;
  const isSuspect = decision.kind === 'keep' && decision.outcome.status === 'suspect';
  if (isSuspect)
    return { why: 'Look at the result first. Convert again, and pay again', command: `${command} --again` };
  if (decision.kind === 'keep') return { why: 'Convert again, and maybe pay twice', command: `${command} --resubmit` };
  const isFetch = decision.kind === 'start' && decision.earlier?.taskId !== undefined;
  const how = isFetch ? ' (only awaits and downloads its task; nothing is submitted)' : ', when the cause is fixed';
  return { why: `Run it again${how}`, command };
}

/** Shows a negative time as zero, since clocks may differ. */
function shownDuration(ms: number): string {
  return formatDuration(Math.max(0, ms));
}

export async function jobWatch(context: CommandContext, workflowId: string): Promise<ExitCode> {
  const { output } = context;
  const signal = untilAskedToEnd(context);
  return withJob(context, workflowId, async (temporal, job) => {
    const { source, output: to } = job.input;
    const file = 'uri' in source ? lastSegment(source.uri) : source.connector;
    if (!output.isLive && job.status === 'running') output.say(`${job.summary} is ${job.phase ?? 'running'}; waiting.`);
    try {
      const result = await awaitJob(context, { workflowId, file, to, stack: temporal, signal });
      if (result) return ended(context, job, result);
      output.say(`The job continues without this command. Come back: fileconv job watch ${shellWord(workflowId)}`);
      if (output.json) output.printJson({ workflowId, status: 'unfinished' });
      return exitCodes.interrupted;
    } catch (error) {
      if (!(error instanceof ConversionFailedError)) throw error;
      const { code, message, details: { output: suspect } = {} } = error;
      output.fail(`${message} See: fileconv job show ${shellWord(workflowId)}`);
      const status = suspect ? 'suspect' : 'failed';
      if (output.json)
        output.printJson({ workflowId, status, ...(suspect && { output: suspect }), error: { code, message } });
      return exitCodes.failed;
    }
  });
}

function ended(
  { output }: CommandContext,
  { workflowId, summary }: { workflowId: string; summary: string },
  result: ConversionJobResult,
): ExitCode {
  const status = result.status === 'skipped' ? 'skipped' : 'converted';
  const file = result.output && { ...result.output, path: shownPath(result.output.uri) };
  if (output.json) output.printJson({ workflowId, ...result, status, ...(file && { output: file }) });
  else if (status === 'skipped') output.print(`${printable(summary)} skipped: its result exists`);
  else
    output.print(`${printable(summary)}: ${printable(file ? `${file.path} (${fileSize(file.bytes)})` : 'converted')}`);
  if (result.possiblyChargedTwice) {
    output.warn(`${printable(summary)}: the service may have charged this conversion ${timesCharged(result)}.`);
  }
  return exitCodes.ok;
}

/** Runs a command on one job and its inspection. @throws CommandError if there is no such job. */
async function withJob<T>(
  context: CommandContext,
  workflowId: string,
  run: (temporal: StackInUse, job: JobInspection) => T | Promise<T>,
): Promise<T> {
  const temporal = await openTemporal(context);
  const notKnown = () => `Temporal has no job ${workflowId} in namespace ${temporal.namespace}. See: fileconv job list`;
  const noJob = ({ workflowType }: NotAConversionJobError) =>
    `${workflowId} is not a conversion job: its workflow type is ${workflowType}. See: fileconv job list`;
  try {
    return await temporal
      .untilClosed(() => inspectJob(temporal.client, workflowId))
      .then((job) => run(temporal, job))
      .catch(explaining(WorkflowNotFoundError, 'INPUT_UNUSABLE', notKnown))
      .catch(explaining(NotAConversionJobError, 'INPUT_UNUSABLE', noJob));
  } finally {
    await temporal.close();
  }
}

/** `fileconv job cancel`: asks a job to stop; it leaves no temporary file. Exit code 1 if it had already ended otherwise. */
export async function jobCancel(context: CommandContext, workflowId: string): Promise<void> {
  const { output } = context;
  return withJob(context, workflowId, async (temporal, job) => {
    const { status, runId, taskId, phase, worker } = job;
    if (status === 'cancelled') {
      output.result({ workflowId, runId, status }, `Job ${workflowId} was cancelled before.`);
      return;
    }
    if (status !== 'running') {
      throw new CommandError('JOB_STATE', [
        `Job ${workflowId} has ended already (${status}). See: fileconv job show ${shellWord(workflowId)}`,
      ]);
    }
    await temporal.untilClosed(() => temporal.client.workflow.getHandle(workflowId, runId).cancel());
    const goesOn = taskId !== undefined && phase === 'converting';
    const cancelling = { workflowId, runId, status: 'cancelling', ...(goesOn && { taskId }) };
    output.result(cancelling, `Job ${workflowId} has been asked to cancel.`);
    if (goesOn) {
      output.warn(`The service has no cancel endpoint: conversion task ${taskId} continues there and may be charged.`);
    }
    if (worker === 'none') output.warn('No worker is alive: the job ends when one runs again (fileconv worker).');
  });
}

export async function jobRetry(
  context: CommandContext,
  workflowId: string,
  { resubmit = false, again = false }: RetryOptions,
): Promise<void> {
  const id = shellWord(workflowId);
  const seeItContinue = `See it continue: fileconv job watch ${id}`;
  return withJob(context, workflowId, async (temporal, job) => {
    if (job.status === 'running') {
      throw new CommandError('JOB_STATE', [`Nothing to retry: job ${workflowId} still runs. ${seeItContinue}`]);
    }
    const { client } = temporal;
    const retry = await planRetry({ client, files: filesOf(context) }, job, { resubmit, again });
    const { decision } = retry;
    if (decision.kind === 'done') {
      const again = `To convert it again, and pay again: fileconv job retry ${id} --again`;
      throw new CommandError('JOB_STATE', [`Nothing to retry: job ${workflowId} has completed. ${again}`]);
    }
    if (decision.kind === 'keep') {
      const { message = '' } = decision.outcome;
      throw new CommandError('JOB_STATE', [`Job ${workflowId} was not started again: ${message}`]);
    }
    const runId = await temporal.untilClosed(async () => {
      await new FileConversionClient({ client, taskQueue: job.taskQueue })
        .retry(job, retry)
        .catch(
          explaining(
            WorkflowExecutionAlreadyStartedError,
            'JOB_STATE',
            () => `Job ${workflowId} was started again in the meantime. ${seeItContinue}`,
          ),
        );
      return (await client.workflow.getHandle(workflowId).describe()).runId;
    });
    const { charge = 'no', taskId, possiblyChargedExtra = 0 } = decision.earlier ?? {};
    const from = taskId !== undefined ? 'converting' : 'uri' in job.input.source ? 'uploading' : 'submitting';
    const isMarked = possiblyChargedExtra > 0 || charge === 'maybe';
    const how =
      taskId !== undefined
        ? `: it awaits and downloads conversion task ${taskId}; nothing is submitted.`
        : ` from its beginning.${isMarked ? ' Its result will say "possibly charged twice".' : ''}`;
    context.output.result(
      { workflowId, runId, from, possiblyChargedTwice: isMarked },
      `Job ${workflowId} runs again${how} ${seeItContinue}`,
    );
  });
}
