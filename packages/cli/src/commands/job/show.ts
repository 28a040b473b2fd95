import {
  type JobInspection,
  type NextStep,
  planRetry,
  type Waiting,
  workflowPath,
} from 'temporal-file-conversion/client';
import { withoutSecrets } from 'temporal-file-conversion/job';
import { fileSize, formatDuration, printable, shellWord } from 'temporal-file-conversion/messages';
import type { FileStore } from 'temporal-file-conversion/storage';
import { filesOf } from '../../batch/batch-folder';
import type { CommandContext } from '../../command-context';
import { bothTimes } from '../../output/text';
import type { StackInUse } from '../../stack/open-temporal';
import { adviceOnWorker, untilText } from '../../waiting/stall';
import { withJob } from './control';

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
    ['Source', 'uri' in source ? withoutSecrets(source.uri) : `connector ${source.connector}`],
    ['Destination', destination ?? 'none: the result stays at the service'],
    ['Output', output && `${output.uri} (${fileSize(output.bytes)}, sha256 ${output.sha256})`],
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
  // The last failure has a line of its own.
  const lack = because !== undefined && because !== pending?.lastFailure ? `. ${because}` : '';
  return `${waitsFor}${untilText(waiting)}${lack}`;
}

function workerText({ worker, taskQueue }: JobInspection): string | undefined {
  if (worker === 'none') return `none polls task queue ${taskQueue}: the job stands still`;
  return worker === 'silent' ? 'does not answer' : undefined;
}

function spentText({ requests, vcredits }: JobInspection): string | undefined {
  if (requests === undefined) return undefined;
  const credits = vcredits === undefined ? '' : `, ${vcredits} vCredit${vcredits === 1 ? '' : 's'}`;
  return `${requests} request${requests === 1 ? '' : 's'}${credits}`;
}

/** The next command to type; undefined when there is nothing to do. */
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

/** Clocks may differ: a negative time counts as none. */
function shownDuration(ms: number): string {
  return formatDuration(Math.max(0, ms));
}
