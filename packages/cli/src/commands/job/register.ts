import { InvalidArgumentError, Option, type Command } from 'commander';
import type { CountedBy } from 'temporal-file-conversion/internal/client/operations/count-jobs';
import type { CommandTools, CommonOptions } from '../../command-context';
import { pointInTime } from '../arguments';
import type { FilterFlags } from './list';

const countedBy: readonly CountedBy[] = ['status', 'code', 'app', 'batch'];
const statuses = ['running', 'awaitingCredits', 'completed', 'failed', 'cancelled'];

/** Builds `fileconv job ...`; what the commands do is loaded only when one runs. */
export function addJob(program: Command, { common, examples, run }: CommandTools): void {
  const job = program
    .command('job')
    .description('see what jobs do and did, and act on them')
    .addHelpText(
      'after',
      examples('fileconv job list --status awaitingCredits', 'fileconv job show convert/report.md-1f3a9c02'),
    );

  filtered(common(job.command('list')))
    .description('list the newest jobs')
    .option('--limit <n>', 'at most so many', limit, 20)
    .addHelpText(
      'after',
      examples(
        'fileconv job list --status awaitingCredits',
        "fileconv job list --status failed --since today --json | jq -r '.jobs[].workflowId'",
        'fileconv job list --code POSSIBLY_CHARGED_TWICE',
      ),
    )
    .action((options: CommonOptions & FilterFlags & { limit: number }) =>
      run(options, async (context) => (await import('./list.js')).jobList(context, filterOf(options), options.limit)),
    );

  filtered(common(job.command('count')))
    .description('count jobs and their vCredits')
    .addOption(new Option('--by <what>', 'what makes a group').choices([...countedBy]).default('status'))
    .addHelpText(
      'after',
      examples('fileconv job count --by code --status failed --since today', 'fileconv job count --batch invoices'),
    )
    .action((options: CommonOptions & FilterFlags & { by: CountedBy }) =>
      run(options, async (context) => (await import('./list.js')).jobCount(context, filterOf(options), options.by)),
    );

  common(job.command('show'))
    .description('print what a job did, what it waits for and what to type next; needs no worker')
    .argument('<id>', 'workflow id')
    .addHelpText(
      'after',
      examples('fileconv job show invoices/17', 'fileconv job show invoices/17 --json | jq .pending'),
    )
    .action((id: string, options: CommonOptions) =>
      run(options, async (context) => (await import('./show.js')).jobShow(context, id)),
    );

  common(job.command('watch'))
    .description('wait for a job; the exit code is that of convert')
    .argument('<id>', 'workflow id')
    .addHelpText('after', examples('fileconv job watch invoices/17', 'fileconv job watch invoices/17 --json'))
    .action((id: string, options: CommonOptions) =>
      run(options, async (context) => (await import('./watch.js')).jobWatch(context, id)),
    );

  common(job.command('cancel'))
    .description('stop a job; a conversion that the service has accepted goes on there')
    .argument('<id>', 'workflow id')
    .addHelpText('after', examples('fileconv job cancel invoices/17'))
    .action((id: string, options: CommonOptions) =>
      run(options, async (context) => (await import('./control.js')).jobCancel(context, id)),
    );

  common(job.command('retry'))
    .description('run a job again that ended without a file, from where nothing is charged twice')
    .argument('<id>', 'workflow id')
    .option('--resubmit', 'convert again although the last run was charged or may have been')
    .addHelpText('after', examples('fileconv job retry invoices/17', 'fileconv job retry invoices/17 --resubmit'))
    .action((id: string, options: CommonOptions & { resubmit?: boolean }) =>
      run(options, async (context) =>
        (await import('./control.js')).jobRetry(context, id, { resubmit: options.resubmit === true }),
      ),
    );
}

/** Options that say which jobs. */
function filtered(command: Command): Command {
  return command
    .addOption(new Option('--status <status>', 'in this state only').choices(statuses))
    .option('--app <name>', 'of this app profile only')
    .option(
      '--code <code>',
      'with this error code only; POSSIBLY_CHARGED_TWICE: those that may have been charged twice',
    )
    .option('--batch <id>', 'of this batch only')
    .option(
      '--since <time>',
      'started or ended since: 2h, 7d, today (UTC), or an ISO time such as 2026-11-21T06:00Z',
      pointInTime,
    );
}

function filterOf({ status, app, code, batch, since }: FilterFlags): FilterFlags {
  return {
    ...(status && { status }),
    ...(app !== undefined && { app }),
    ...(code !== undefined && { code }),
    ...(batch !== undefined && { batch }),
    ...(since && { since }),
  };
}

function limit(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= 10_000) return value;
  throw new InvalidArgumentError('It must be a whole number from 1 to 10000.');
}
