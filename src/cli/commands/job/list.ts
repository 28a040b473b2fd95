import type { JobFilter, JobList, ListedJob } from '../../../client/list-jobs';
import { SearchAttributesMissingError, listJobs } from '../../../client/list-jobs';
import type { ListedStatus } from '../../../shared/search-attributes';
import { possiblyChargedTwiceCode } from '../../../shared/search-attributes';
import type { CommandContext } from '../../command-context';
import { CommandError } from '../../command-error';
import type { ExitCode } from '../../exit';
import { exitCodes } from '../../exit';
import { openTemporal } from '../../stack/open-temporal';
import { formatTable } from '../../table';
import { printable } from '../../terminal-text';
import { shownTime } from '../../../shared/shown-time';

/** Options of `job list`, as they are typed. */
export interface ListFlags {
  status?: ListedStatus;
  app?: string;
  code?: string;
  batch?: string;
  since?: Date;
  limit: number;
}

/** `fileconv job list`: the newest jobs that fit. */
export async function jobList(context: CommandContext, { limit, ...filter }: ListFlags): Promise<ExitCode> {
  const { output } = context;
  const temporal = await openTemporal(context);
  try {
    const list = await temporal.untilClosed(() => listJobs(temporal.client, filter, limit));
    if (output.json) output.printJson(list);
    else print(context, list, filter);
    return exitCodes.ok;
  } catch (error) {
    if (!(error instanceof SearchAttributesMissingError)) throw error;
    throw new CommandError(
      'STATE_UNUSABLE',
      [
        `Namespace ${temporal.namespace} has no search attributes to list jobs by ${error.filters.join(' and ')}. Register them: fileconv namespace init. Without them --status running, completed, failed and cancelled, --batch and --since work.`,
      ],
      { cause: error },
    );
  } finally {
    await temporal.close();
  }
}

function print({ output }: CommandContext, { jobs, total, hasSearchAttributes }: JobList, filter: JobFilter): void {
  if (jobs.length === 0) {
    const isFiltered = Object.values(filter).some((value) => value !== undefined);
    output.say(isFiltered ? 'No job fits.' : 'No jobs.');
  } else {
    const head = ['ID', 'STATUS', 'SUMMARY', 'SINCE (UTC)', 'CODE', 'VCREDITS'];
    output.print(formatTable(head, jobs.map(toRow)));
  }
  if (total > jobs.length) output.say(`${jobs.length} of ${total}; see more with --limit ${total}.`);
  if (!hasSearchAttributes) {
    output.warn(
      'The namespace has no search attributes: no code and no vCredits are known. Run: fileconv namespace init',
    );
  }
}

function toRow(job: ListedJob): string[] {
  const codes = [job.code, job.possiblyChargedTwice ? possiblyChargedTwiceCode : undefined];
  return [
    printable(job.workflowId),
    job.step ?? job.status,
    printable(job.summary),
    shownTime(job.since),
    codes.filter((code) => code !== undefined).join(', '),
    job.vcredits === undefined ? '' : String(job.vcredits),
  ];
}
