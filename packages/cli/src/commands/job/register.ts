import { Option, type Command } from 'commander';
import { type Act, againOption, command, group, pointInTime, resubmitOption, tagText, wholeNumber } from '../arguments';

const statuses = ['running', 'parked', 'completed', 'failed', 'cancelled'];

export function addJob(program: Command, act: Act): void {
  const job = group(program, 'job', 'inspect, cancel and retry jobs');
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
    .option('--limit <n>', 'maximum number of jobs', wholeNumber(1, 10_000), 20)
    .action(act(async () => (await import('./jobs.js')).jobList));
  byId(
    'show',
    'show what a job did, what it waits for and what to type next; works without a worker',
    'fileconv job show invoices/letter.pdf-9a1c3f2a91c04bd7 --json | jq .pending',
  ).action(act(async () => (await import('./jobs.js')).jobShow));
  byId('watch', 'wait for a job; exits like convert').action(act(async () => (await import('./jobs.js')).jobWatch));
  byId('cancel', 'cancel a job; a conversion that the service has accepted continues there').action(
    act(async () => (await import('./jobs.js')).jobCancel),
  );
  byId(
    'retry',
    'rerun a job that ended without a result, without charging twice',
    'fileconv job retry invoices/letter.pdf-9a1c3f2a91c04bd7 --resubmit',
  )
    .option(...resubmitOption)
    .option(...againOption)
    .action(act(async () => (await import('./jobs.js')).jobRetry));
}

function filtered(command: Command): Command {
  return command
    .addOption(new Option('--status <status>', 'only jobs in this state').choices(statuses))
    .option('--app <name>', 'only jobs of this app profile')
    .option(
      '--code <code>',
      'only jobs with this error code; POSSIBLY_CHARGED_TWICE: jobs that may have been charged twice',
    )
    .option('--batch <id>', 'only jobs of this batch')
    .option('--tag <text>', 'only jobs with this tag (fileconv convert --tag, batch run --tag)', tagText)
    .option(
      '--since <time>',
      'started or ended since: 2h, 7d, today (UTC), or an ISO time such as 2026-11-21T06:00Z',
      pointInTime,
    );
}
