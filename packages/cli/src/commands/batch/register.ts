import { InvalidArgumentError, type Command } from 'commander';
import { maxWindow } from 'temporal-file-conversion/job';
import type { RunFlags } from '../../batch/settings';
import type { CommandContext, Runner } from '../../command-context';
import { exitCodes, reportFailure, type ExitCode } from '../../command-error';
import {
  addConversionOptions,
  command,
  createAct,
  formatNames,
  group,
  maxVcreditsOption,
  notifyOption,
  onEndOption,
  once,
  pointInTime,
  resubmitOption,
  runsOption,
  templateOption,
  unconvertibleOption,
  wholeNumber,
} from '../arguments';

const exitCodeHelp =
  '\nExit codes: 0 all converted or skipped, 1 some failed, 2 wrong usage or input,\n3 could not run, 130 interrupted.';
const windowSize = wholeNumber(1, maxWindow);

export function addBatch(program: Command, runner: Runner): void {
  const act = createAct((options, run) => runner(options, (context) => withOwnExitCode(context, () => run(context))));
  const batch = group(program, 'batch', 'convert many files as one batch, which survives crashes').addHelpText(
    'after',
    exitCodeHelp,
  );
  const named = (name: string, description: string, ...lines: string[]) =>
    command(batch, name, description, ...lines).argument('<name>', "the batch's name");

  const run = command(
    batch,
    'run',
    'convert files, folders, patterns or the rows of a manifest; repeat the command to continue where it stopped',
    'fileconv batch run letters --recursive --to pdf --out converted',
    "fileconv batch run 'in/*.docx' --to pdf --out out --exclude 'draft-*' --dry-run",
    'fileconv batch run --manifest invoices.csv --name invoices',
    'find . -name "*.md" -newer stamp -print0 | fileconv batch run - --to html --out site',
  )
    .argument(
      '[source...]',
      'files, folders, quoted patterns, - for a list on standard input, or, without --to, one manifest (.csv, .jsonl)',
    )
    .option('--to <format>', 'target format, or several: pdf,docx', formatNames)
    .option('--out <dir>', 'folder for the results; default: beside each file')
    .option(...runsOption)
    .option('--name <name>', 'name; default: made from the arguments')
    .option('--manifest <file>', 'rows of source,output,... as CSV or JSON Lines', once)
    .option('--modified-since <time>', 'only files changed since: 2h, 7d or an ISO time', pointInTime)
    .option('--files-from <file>', 'list of paths, one a line or NUL-terminated', once)
    .option(...templateOption)
    .option('--window <n>', 'jobs in flight at a time, 1 to 500; default: 50', windowSize)
    .option('--stop-after <n>', 'start no more jobs after 10 failures, or 5%', threshold)
    .option(...maxVcreditsOption)
    .addOption(unconvertibleOption)
    .addOption(notifyOption)
    .option(...onEndOption)
    .option('--dry-run', 'show what would be done, without doing it');
  addConversionOptions(run, 'results not written by this batch')
    .addHelpText('after', exitCodeHelp)
    .action(act(async () => (await import('./run.js')).batchRun));

  named('status', 'show how many files of a batch are converted, failed and in flight').action(
    act(async () => (await import('./look.js')).batchStatus),
  );
  named('watch', 'show the progress of a batch until it ends; Ctrl-C stops watching, not the batch')
    .option(...onEndOption)
    .action(act(async () => (await import('./run.js')).batchWatch));
  command(batch, 'list', 'list the newest batches').action(act(async () => (await import('./look.js')).batchList));
  named(
    'report',
    'write the report of a finished batch (HTML, CSV, JSON) and print its summary; if it is running, or had nothing to do, print where its report is',
  ).action(act(async () => (await import('./look.js')).batchReport));

  named('pause', 'stop starting jobs; those in flight continue').action(
    act(async () => (await import('./control.js')).pauseBatch),
  );
  named('resume', 'start jobs again after a pause').action(act(async () => (await import('./control.js')).resumeBatch));
  named('window', 'change how many jobs are in flight at a time', 'fileconv batch window invoices 200')
    .argument('<n>', '1 to 500', windowSize)
    .action(act(async () => (await import('./control.js')).changeWindow));
  named(
    'cancel',
    'stop starting jobs and cancel those in flight; results stay',
    'fileconv batch cancel invoices --finish',
  )
    .option('--finish', 'let the jobs in flight finish')
    .action(act(async () => (await import('./control.js')).cancelBatch));
  named('retry', 'run the files of the last run that did not succeed', 'fileconv batch retry invoices --resubmit')
    .option(...resubmitOption)
    .option('--again', 'also convert files whose results failed their check or are gone, at a new charge')
    .option(...maxVcreditsOption)
    .option(...onEndOption)
    .option('--runs <dir>', 'where the runs are, if the batch is no longer known to Temporal')
    .action(act(async () => (await import('./run.js')).batchRetry));
}

/** Exits with 3 if the command could not do its work, because in these commands 1 means that files failed. */
async function withOwnExitCode(context: CommandContext, run: () => Promise<ExitCode>): Promise<ExitCode> {
  try {
    return await run();
  } catch (error) {
    const exitCode = reportFailure(context.output, error);
    return exitCode === exitCodes.failed ? exitCodes.couldNotRun : exitCode;
  }
}

function threshold(text: string): RunFlags['stopAfter'] {
  const [, digits = '', share] = /^(\d+(?:\.\d+)?)(%?)$/.exec(text) ?? [];
  const value = Number(digits);
  if (share === '%' && value > 0 && value <= 100) return { percent: value };
  if (share === '' && Number.isInteger(value) && value > 0) return { failures: value };
  throw new InvalidArgumentError('It must be a number of failures such as 10, or a share of the files such as 5%.');
}
