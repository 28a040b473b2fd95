import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import type { CommandContext, CommonOptions, ProcessContext } from './command-context';
import { openContext } from './command-context';
import type { ExitCode } from './exit';
import { exitCodeOf, exitCodes } from './exit';
import { createOutput } from './output';
import { packageVersion } from './package-version';

/** Runs one command line; whatever goes wrong becomes one clear message and an exit code. */
export async function runCommandLine(argv: readonly string[], host: ProcessContext): Promise<ExitCode> {
  let exitCode: ExitCode = exitCodes.ok;
  let output = createOutput({ ...host, json: argv.includes('--json'), noColor: Boolean(host.env['NO_COLOR']) });
  const program = buildProgram(host, async (options, run) => {
    const context = await openContext(host, options);
    output = context.output;
    exitCode = await run(context);
  });
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    const message = error instanceof Error ? error.message : String(error);
    output.fail(message);
    if (output.json) output.printJson({ error: { message } });
    return exitCodeOf(error);
  }
}

type Runner = (options: CommonOptions, run: (context: CommandContext) => Promise<ExitCode>) => Promise<void>;

function buildProgram({ stdout, stderr }: ProcessContext, run: Runner): Command {
  const program = new Command('fileconv')
    .description('Durable file conversion: every file is a Temporal workflow that survives crashes.')
    .version(packageVersion())
    .exitOverride()
    .configureOutput({ writeOut: (text) => void stdout.write(text), writeErr: (text) => void stderr.write(text) })
    .showHelpAfterError('Run `fileconv --help` to see what there is.');

  common(program.command('up'))
    .description('start Temporal, the conversion service and a worker on this machine; Ctrl-C stops them')
    .addHelpText('after', examples('fileconv up', 'fileconv up --json | jq -r .temporal.uiUrl'))
    .action((options: CommonOptions) =>
      run(options, async (context) => (await import('./commands/up.js')).up(context)),
    );

  common(program.command('convert'))
    .description('convert files; uses the stack that `fileconv up` runs, or starts one for this command')
    .argument('<file...>', 'files to convert')
    .requiredOption('--to <format>', 'target format, for example pdf, docx, webp or txt-markdown')
    .option('--from <format>', 'input format; default: by the file extension')
    .option('--out <dir>', 'folder for the results; default: beside each file')
    .addOption(
      new Option('--on-existing <what>', 'when the result exists already').choices([
        'fail',
        'skip',
        'overwrite',
        'rename',
      ]),
    )
    .addOption(
      new Option('--on-unknown-outcome <what>', 'when it is not known whether a conversion ran').choices([
        'resubmit',
        'fail',
      ]),
    )
    .option('--app <name>', 'app profile; default: default_app of the configuration')
    .option('--parallel <n>', 'files in flight at a time', wholeNumber, 20)
    .addHelpText(
      'after',
      examples(
        'fileconv convert report.md --to pdf',
        'fileconv convert *.docx --to pdf --out converted --on-existing skip',
        "fileconv convert photo.png --to webp --json | jq -r '.files[].output.uri'",
      ),
    )
    .action((files: string[], options: CommonOptions & ConvertFlags) =>
      run(options, async (context) => (await import('./commands/convert.js')).convert(context, files, options)),
    );

  common(program.command('formats'))
    .description('list the formats that the service converts')
    .argument('[format]', 'list only what this format can be converted to')
    .option('--app <name>', 'app profile; default: default_app of the configuration')
    .addHelpText('after', examples('fileconv formats', 'fileconv formats docx', 'fileconv formats --json'))
    .action((format: string | undefined, options: CommonOptions & { app?: string }) =>
      run(options, async (context) =>
        (await import('./commands/formats.js')).formats(context, { format, app: options.app }),
      ),
    );

  common(program.command('worker'))
    .description('run a worker: the process that executes conversion jobs')
    .addHelpText('after', examples('fileconv worker', 'TEMPORAL_ADDRESS=temporal.internal:7233 fileconv worker'))
    .action((options: CommonOptions) =>
      run(options, async (context) => (await import('./commands/worker.js')).worker(context)),
    );

  common(program.command('service'))
    .description('run the embedded conversion service on this machine')
    .addHelpText('after', examples('fileconv service', 'FILECONV_SERVICE_PORT=9000 fileconv service'))
    .action((options: CommonOptions) =>
      run(options, async (context) => (await import('./commands/service.js')).service(context)),
    );

  const config = program.command('config').description('look at the configuration');
  common(config.command('show'))
    .description('print every effective value and where it came from; secrets are masked')
    .addHelpText('after', examples('fileconv config show', 'fileconv config show --config other.toml'))
    .action((options: CommonOptions) =>
      run(options, async (context) => (await import('./commands/config-show.js')).configShow(context)),
    );

  return program;
}

/** Options of `convert`, as they are typed. */
export interface ConvertFlags {
  to: string;
  from?: string;
  out?: string;
  onExisting?: 'fail' | 'skip' | 'overwrite' | 'rename';
  onUnknownOutcome?: 'resubmit' | 'fail';
  app?: string;
  parallel: number;
}

function common(command: Command): Command {
  return command
    .option('--config <file>', 'configuration file; default: fileconv.toml, if there is one')
    .option('--json', 'print one JSON document to stdout');
}

function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ ${line}`).join('\n')}`;
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('It must be a whole number, 1 or more.');
  return value;
}
