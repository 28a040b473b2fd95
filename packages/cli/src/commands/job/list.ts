import {
  countJobs,
  type CountedBy,
  type JobCounts,
  type JobGroup,
} from 'temporal-file-conversion/internal/client/operations/count-jobs';
import {
  SearchAttributesMissingError,
  type JobFilter,
} from 'temporal-file-conversion/internal/client/operations/job-query';
import { listJobs, type JobList, type ListedJob } from 'temporal-file-conversion/internal/client/operations/list-jobs';
import { possiblyChargedTwiceCode } from 'temporal-file-conversion/internal/shared/search-attributes';
import { printable } from 'temporal-file-conversion/internal/shared/wording';
import type { CommandContext } from '../../command-context';
import { CommandError } from '../../command-error';
import { formatTable, timeCells, timeHeads } from '../../output/text';
import { withTemporal, type OpenTemporal } from '../../stack/open-temporal';

/** `fileconv job list`: the newest jobs that fit. */
export async function jobList(context: CommandContext, flags: JobFilter & { limit: number }): Promise<void> {
  const { output } = context;
  const { status, app, code, batch, tag, since, limit } = flags;
  const filter = { status, app, code, batch, tag, since };
  return withFilter(context, async ({ client }) => {
    const list = await listJobs(client, filter, limit);
    if (output.json) output.printJson(list);
    else printJobs(context, list, filter);
  });
}

function printJobs({ output }: CommandContext, { jobs, total, hasSearchAttributes }: JobList, filter: JobFilter): void {
  if (jobs.length === 0) {
    const isFiltered = Object.values(filter).some((value) => value !== undefined);
    output.say(isFiltered ? 'No job fits.' : 'No jobs.');
  } else {
    const head = ['ID', 'STATUS', 'SUMMARY', ...timeHeads('SINCE'), 'CODE', 'VCREDITS'];
    output.print(formatTable(head, jobs.map(jobRow)));
  }
  if (total > jobs.length) output.say(`${jobs.length} of ${total}; see more with --limit ${total}.`);
  if (!hasSearchAttributes) {
    output.warn(
      'The namespace lacks search attributes: codes and vCredits may not be known. Run: fileconv namespace init',
    );
  }
}

function jobRow(job: ListedJob): string[] {
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

/** `fileconv job count`: how many jobs fit, by what they have in common. */
export async function jobCount(context: CommandContext, flags: JobFilter & { by: CountedBy }): Promise<void> {
  const { output } = context;
  const { by } = flags;
  return withFilter(context, async ({ client }) => {
    const counts = await countJobs(client, flags, by);
    if (output.json) output.printJson({ by, ...counts });
    else printCounts(context, counts, by);
  });
}

function printCounts({ output }: CommandContext, { groups, total }: JobCounts, by: CountedBy): void {
  if (total === 0) output.say('No job fits.');
  else {
    const isTwice = groups.some(({ possiblyChargedTwice }) => possiblyChargedTwice > 0);
    const head = [by.toUpperCase(), 'JOBS', 'VCREDITS', ...(isTwice ? ['MAYBE CHARGED TWICE'] : []), 'NEWEST'];
    output.print(formatTable(head, [...groups.map((group) => countRow(group, isTwice)), totalRow(groups, isTwice)]));
  }
}

function countRow({ value, jobs, vcredits, possiblyChargedTwice, newest }: JobGroup, isTwice: boolean): string[] {
  const twice = isTwice ? [possiblyChargedTwice === 0 ? '' : String(possiblyChargedTwice)] : [];
  return [value === undefined ? '-' : printable(value), String(jobs), String(vcredits), ...twice, printable(newest)];
}

function totalRow(groups: readonly JobGroup[], isTwice: boolean): string[] {
  const sum = (of: (group: JobGroup) => number) => groups.reduce((total, group) => total + of(group), 0);
  const twice = isTwice ? [String(sum(({ possiblyChargedTwice }) => possiblyChargedTwice))] : [];
  return ['together', String(sum(({ jobs }) => jobs)), String(sum(({ vcredits }) => vcredits)), ...twice, ''];
}

async function withFilter(context: CommandContext, ask: (temporal: OpenTemporal) => Promise<void>): Promise<void> {
  return withTemporal(context, async (temporal) => {
    try {
      await ask(temporal);
    } catch (error) {
      if (!(error instanceof SearchAttributesMissingError)) throw error;
      const problem = `Namespace ${temporal.namespace} has no search attributes to list jobs by ${error.filters.join(' and ')}. Register them: fileconv namespace init. Without them --status running, completed, failed and cancelled, --batch and --since work.`;
      throw new CommandError('STATE_UNUSABLE', [problem], { cause: error });
    }
  });
}
