import type { CountedBy, JobCounts, JobGroup } from 'temporal-file-conversion/internal/client/count-jobs';
import { countJobs } from 'temporal-file-conversion/internal/client/count-jobs';
import type { CommandContext } from '../../command-context';
import type { ExitCode } from '../../exit';
import { exitCodes } from '../../exit';
import { formatTable } from '../../table';
import { printable } from '../../terminal-text';
import type { FilterFlags } from './filter';
import { withFilter } from './filter';

/** `fileconv job count`: how many jobs fit, by what they have in common. */
export async function jobCount(context: CommandContext, filter: FilterFlags, by: CountedBy): Promise<ExitCode> {
  const { output } = context;
  return withFilter(context, async ({ client }) => {
    const counts = await countJobs(client, filter, by);
    if (output.json) output.printJson({ by, ...counts });
    else print(context, counts, by);
    return exitCodes.ok;
  });
}

function print({ output }: CommandContext, { groups, total }: JobCounts, by: CountedBy): void {
  if (total === 0) output.say('No job fits.');
  else {
    const isTwice = groups.some(({ possiblyChargedTwice }) => possiblyChargedTwice > 0);
    const head = [by.toUpperCase(), 'JOBS', 'VCREDITS', ...(isTwice ? ['MAYBE CHARGED TWICE'] : []), 'NEWEST'];
    output.print(formatTable(head, [...groups.map((group) => toRow(group, isTwice)), totalRow(groups, isTwice)]));
  }
}

function toRow({ value, jobs, vcredits, possiblyChargedTwice, newest }: JobGroup, isTwice: boolean): string[] {
  const twice = isTwice ? [possiblyChargedTwice === 0 ? '' : String(possiblyChargedTwice)] : [];
  return [value === undefined ? '-' : printable(value), String(jobs), String(vcredits), ...twice, printable(newest)];
}

function totalRow(groups: readonly JobGroup[], isTwice: boolean): string[] {
  const sum = (of: (group: JobGroup) => number) => groups.reduce((total, group) => total + of(group), 0);
  const twice = isTwice ? [String(sum(({ possiblyChargedTwice }) => possiblyChargedTwice))] : [];
  return ['together', String(sum(({ jobs }) => jobs)), String(sum(({ vcredits }) => vcredits)), ...twice, ''];
}
