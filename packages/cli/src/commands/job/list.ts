import type { JobFilter } from 'temporal-file-conversion/internal/client/job-query';
import type { JobList, ListedJob } from 'temporal-file-conversion/internal/client/list-jobs';
import { listJobs } from 'temporal-file-conversion/internal/client/list-jobs';
import { possiblyChargedTwiceCode } from 'temporal-file-conversion/internal/shared/search-attributes';
import type { CommandContext } from '../../command-context';
import type { ExitCode } from '../../exit';
import { exitCodes } from '../../exit';
import { formatTable } from '../../table';
import { printable } from '../../terminal-text';
import { timeCells, timeHeads } from '../../shown-time';
import type { FilterFlags } from './filter';
import { withFilter } from './filter';

/** `fileconv job list`: the newest jobs that fit. */
export async function jobList(context: CommandContext, filter: FilterFlags, limit: number): Promise<ExitCode> {
  const { output } = context;
  return withFilter(context, async ({ client }) => {
    const list = await listJobs(client, filter, limit);
    if (output.json) output.printJson(list);
    else print(context, list, filter);
    return exitCodes.ok;
  });
}

function print({ output }: CommandContext, { jobs, total, hasSearchAttributes }: JobList, filter: JobFilter): void {
  if (jobs.length === 0) {
    const isFiltered = Object.values(filter).some((value) => value !== undefined);
    output.say(isFiltered ? 'No job fits.' : 'No jobs.');
  } else {
    const head = ['ID', 'STATUS', 'SUMMARY', ...timeHeads('SINCE'), 'CODE', 'VCREDITS'];
    output.print(formatTable(head, jobs.map(toRow)));
  }
  if (total > jobs.length) output.say(`${jobs.length} of ${total}; see more with --limit ${total}.`);
  if (!hasSearchAttributes) {
    output.warn(
      'The namespace lacks search attributes: codes and vCredits may not be known. Run: fileconv namespace init',
    );
  }
}

function toRow(job: ListedJob): string[] {
  const codes = [job.code, job.possiblyChargedTwice ? possiblyChargedTwiceCode : undefined];
  return [
    printable(job.workflowId),
    job.step ?? job.status,
    printable(job.summary),
    ...timeCells(job.since),
    codes.filter((code) => code !== undefined).join(', '),
    job.vcredits === undefined ? '' : String(job.vcredits),
  ];
}
