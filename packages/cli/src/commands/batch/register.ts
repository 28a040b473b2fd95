import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import { maxWindow } from 'temporal-file-conversion/internal/shared/batch';
import type { RunFlags } from '../../batch/settings';
import type { CommandContext, CommandTools, CommonOptions } from '../../command-context';
import { exitCodes, reportFailure } from '../../command-error';
import type { ExitCode } from '../../command-error';
import { collect, formatName, modeOption, onExistingOption, onUnknownOutcomeOption, pointInTime } from '../arguments';

const exitCodeHelp =
  '\nExit codes: 0 all converted or skipped, 1 some failed, 2 wrong usage or input, 3 could not run, 130 interrupted.';

/** Builds `fileconv batch ...`; what the commands do is loaded only when one runs. */
export function addBatch(program: Command, tools: CommandTools): void {
  const { examples } = tools;
  const batch = program
    .command('batch')
    .description('convert many files as one batch that survives everything')
    .addHelpText(
      'after',
      examples('fileconv batch run letters --to pdf --out converted', 'fileconv batch status letters-pdf'),
    )
    .addHelpText('after', exitCodeHelp);
  addRun(batch, tools);
  addLooks(batch, tools);
  addControls(batch, tools);
}

function addRun(batch: Command, { common, examples, run }: CommandTools): void {
  common(batch.command('run'))
    .description(
      'convert files, folders, patterns or the rows of a manifest; the same command again goes on where it was',
    )
    .argument(
      '[source...]',
      'files, folders, patterns in quotes, - for a list on standard input, or one manifest (.csv, .jsonl)',
    )
    .option('--to <format>', 'target format; of a manifest: for rows that name none', formatName)
    .option('--from <format>', 'input format; default: by the file extension', formatName)
    .option('--out <dir>', 'folder for the results, which mirror the folders of the sources; default: beside each file')
    .option(
      '--name <name>',
      "the batch's name; default: made of what is converted, so that the same command means the same batch",
    )
    .option('--manifest <file>', 'rows of source,output[,input,destination] as CSV or JSON Lines')
    .option('--recursive', 'look into the folders of folders')
    .option('--exclude <pattern>', 'leave out what fits; may be given more than once', collect, [])
    .option('--modified-since <time>', 'only files changed since: 2h, 7d, or an ISO time', pointInTime)
    .option('--files-from <file>', 'a file with one path a line, or with paths ended by NUL')
    .option('--template <text>', 'where a result goes below --out; default: {dir}/{name}.{ext}')
    .option('--window <n>', 'jobs in flight at a time, 1 to 500; default: 50', windowSize)
    .option('--stop-after <n>', 'start no more after so many failures, or such a share of them: 10 or 5%', threshold)
    .addOption(onExistingOption('when a result exists that no run of this batch wrote'))
    .addOption(onUnknownOutcomeOption())
    .option('--resubmit', 'convert also what an earlier run may have been charged for; it may be charged twice')
    .addOption(modeOption())
    .option('--app <name>', 'app profile; default: default_app of the configuration')
    .option('--dry-run', 'print what would be done, and do nothing')
    .addHelpText(
      'after',
      examples(
        'fileconv batch run letters --recursive --to pdf --out converted',
        "fileconv batch run 'in/*.docx' --to pdf --out out --exclude 'draft-*' --dry-run",
        'fileconv batch run --manifest invoices.csv --name invoices',
        'find . -name "*.md" -newer stamp -print0 | fileconv batch run - --to html --out site',
      ),
    )
    .addHelpText('after', exitCodeHelp)
    .action((sources: string[], options: CommonOptions & RunFlags) =>
      run(options, (context) =>
        tellingApart(context, async () => (await import('./run.js')).batchRun(context, sources, options)),
      ),
    );
}

function addLooks(batch: Command, { common, examples, run }: CommandTools): void {
  common(batch.command('status'))
    .description('print how many files of a batch stand where')
    .argument('<name>', "the batch's name")
    .addHelpText('after', examples('fileconv batch status invoices', 'fileconv batch status invoices --json'))
    .action((name: string, options: CommonOptions) =>
      run(options, (context) =>
        tellingApart(context, async () => (await import('./look.js')).batchStatus(context, name)),
      ),
    );
  common(batch.command('watch'))
    .description('show the progress of a batch until it ends; Ctrl-C stops watching, not the batch')
    .argument('<name>', "the batch's name")
    .addHelpText('after', examples('fileconv batch watch invoices'))
    .action((name: string, options: CommonOptions) =>
      run(options, (context) =>
        tellingApart(context, async () => (await import('./run.js')).batchWatch(context, name)),
      ),
    );
  common(batch.command('list'))
    .description('list the newest batches')
    .addHelpText('after', examples('fileconv batch list', 'fileconv batch list --json'))
    .action((options: CommonOptions) =>
      run(options, (context) => tellingApart(context, async () => (await import('./look.js')).batchList(context))),
    );
  common(batch.command('report'))
    .description('write the report of a batch that has ended (HTML, CSV, JSON) and print its summary')
    .argument('<name>', "the batch's name")
    .addHelpText('after', examples('fileconv batch report invoices', 'fileconv batch report invoices --json'))
    .action((name: string, options: CommonOptions) =>
      run(options, (context) =>
        tellingApart(context, async () => (await import('./look.js')).batchReport(context, name)),
      ),
    );
}

function addControls(batch: Command, { common, examples, run }: CommandTools): void {
  const control = (command: string, description: string) =>
    common(batch.command(command)).description(description).argument('<name>', "the batch's name");
  control('pause', 'start no more jobs; those in flight go on')
    .addHelpText('after', examples('fileconv batch pause invoices'))
    .action((name: string, options: CommonOptions) =>
      run(options, (context) =>
        tellingApart(context, async () => (await import('./control.js')).pauseBatch(context, name)),
      ),
    );
  control('resume', 'start jobs again after a pause')
    .addHelpText('after', examples('fileconv batch resume invoices'))
    .action((name: string, options: CommonOptions) =>
      run(options, (context) =>
        tellingApart(context, async () => (await import('./control.js')).resumeBatch(context, name)),
      ),
    );
  control('window', 'change how many jobs are in flight at a time')
    .argument('<n>', '1 to 500', windowSize)
    .addHelpText('after', examples('fileconv batch window invoices 200'))
    .action((name: string, window: number, options: CommonOptions) =>
      run(options, (context) =>
        tellingApart(context, async () => (await import('./control.js')).changeWindow(context, { name, window })),
      ),
    );
  control('cancel', 'start no more jobs and cancel those in flight; what is converted stays')
    .option('--finish', 'let the jobs in flight end')
    .addHelpText('after', examples('fileconv batch cancel invoices', 'fileconv batch cancel invoices --finish'))
    .action((name: string, options: CommonOptions & { finish?: boolean }) =>
      run(options, (context) =>
        tellingApart(context, async () =>
          (await import('./control.js')).cancelBatch(context, { name, finish: options.finish === true }),
        ),
      ),
    );
  control('retry', 'run the files of the last run again that have not succeeded')
    .option('--resubmit', 'convert also what an earlier run may have been charged for; it may be charged twice')
    .addHelpText('after', examples('fileconv batch retry invoices', 'fileconv batch retry invoices --resubmit'))
    .action((name: string, options: CommonOptions & { resubmit?: boolean }) =>
      run(options, (context) =>
        tellingApart(context, async () =>
          (await import('./run.js')).batchRetry(context, name, { resubmit: options.resubmit === true }),
        ),
      ),
    );
}

/** In these commands exit code 1 means that files failed; a command that could not do its work ends with 3. */
async function tellingApart(context: CommandContext, run: () => Promise<ExitCode>): Promise<ExitCode> {
  try {
    return await run();
  } catch (error) {
    const exitCode = reportFailure(context.output, error);
    return exitCode === exitCodes.failed ? exitCodes.couldNotRun : exitCode;
  }
}

function windowSize(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= maxWindow) return value;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${maxWindow}.`);
}

function threshold(text: string): { failures?: number; percent?: number } {
  const [, digits = '', share] = /^(\d+(?:\.\d+)?)(%?)$/.exec(text) ?? [];
  const value = Number(digits);
  if (share === '%' && value > 0 && value <= 100) return { percent: value };
  if (share === '' && Number.isInteger(value) && value > 0) return { failures: value };
  throw new InvalidArgumentError('It must be a number of failures such as 10, or a share of the files such as 5%.');
}
