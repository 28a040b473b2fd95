import { Option, type Command } from 'commander';
import { type Act, againOption, command, group, pointInTime, resubmitOption, tagText, wholeNumber } from '../arguments';

const statuses = ['running', 'parked', 'completed', 'failed', 'cancelled'];

export function addJob(program: Command, act: Act): void {
  const job = group(program, 'job', 'see what jobs do and did, and act on them');
  const byId = (name: string, description: string, ...lines: string[]) =>
    command(job, name, description, ...lines).argument('<id>', 'workflow id');

  filtered(
    command(
      job,
      'list',
      'list the newest jobs',
      'fileconv job list --status parked',
      "fileconv job list --status failed --since today --json | jq -r '.jobs[].workflowId'",
      'fileconv job list --code POSSIBLY_CHARGED_TWICE',
    ),
  )
    .option('--limit <n>', 'at most so many', wholeNumber(1, 10_000), 20)
    .action(act(async () => (await import('./jobs.js')).jobList));
  byId(
    'show',
    'print what a job did, what it waits for and what to type next; needs no worker',
    'fileconv job show invoices/letter.pdf-9a1c3f2a91c04bd7 --json | jq .pending',
  ).action(act(async () => (await import('./jobs.js')).jobShow));
  byId('watch', 'wait for a job; the exit code is that of convert').action(
    act(async () => (await import('./jobs.js')).jobWatch),
  );
  byId('cancel', 'stop a job; a conversion that the service has accepted continues there').action(
    act(async () => (await import('./jobs.js')).jobCancel),
  );
  byId(
    'retry',
    'run a job that ended without a file again, from a point at which nothing is charged twice',
    'fileconv job retry invoices/letter.pdf-9a1c3f2a91c04bd7 --resubmit',
  )
    .option(...resubmitOption)
    .option(...againOption)
    .action(act(async () => (await import('./jobs.js')).jobRetry));
}

function filtered(command: Command): Command {
  return command
    .addOption(new Option('--status <status>', 'in this state only').choices(statuses))
    .option('--app <name>', 'of this app profile only')
    .option(
      '--code <code>',
      'with this error code only; POSSIBLY_CHARGED_TWICE: those that may have been charged twice',
    )
    .option('--batch <id>', 'of this batch only')
    .option('--tag <text>', 'with this tag only (fileconv convert --tag, batch run --tag)', tagText)
    .option(
      '--since <time>',
      'started or ended since: 2h, 7d, today (UTC), or an ISO time such as 2026-11-21T06:00Z',
      pointInTime,
    );
}
