import {
  type JobFilter,
  type ListedJob,
  listJobs,
  possiblyChargedTwiceCode,
  SearchAttributesMissingError,
} from 'temporal-file-conversion/client';
import { printable } from 'temporal-file-conversion/messages';
import type { CommandContext } from '../../command-context';
import { explaining } from '../../command-error';
import { formatTable, timeCells, timeHeads } from '../../output/text';
import { withTemporal } from '../../stack/open-temporal';

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
    const { jobs, total, hasSearchAttributes } = list;
    if (output.json) {
      output.printJson(list);
      return;
    }
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
  });
}

function jobRow(job: ListedJob): string[] {
  const codes = [job.code, job.possiblyChargedTwice ? possiblyChargedTwiceCode : undefined];
  return [
    printable(job.workflowId),
    job.step ?? job.status,
    printable(job.summary),
    ...timeCells(job.since),
    printable(codes.filter((code) => code !== undefined).join(', ')),
    job.vcredits === undefined ? '' : String(job.vcredits),
  ];
}
