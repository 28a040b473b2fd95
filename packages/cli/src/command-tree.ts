import { Command, InvalidArgumentError } from 'commander';
import { packageVersion } from 'temporal-file-conversion/internal/http/package-version';
import type { CommonOptions, Runner } from './command-context';
import { formatName, modeOption, onExistingOption, onUnknownOutcomeOption, refuseEmpty } from './commands/arguments';
import { addBatch } from './commands/batch/register';
import { addJob } from './commands/job/register';
import { addDeployment, addDoctor, addLimit, addNamespace } from './commands/register-operations';
import { addSchedule } from './commands/schedule/register';
import { addServiceAdmin } from './commands/service-admin/register';
import type { TargetFlags } from './commands/service-check';
import type { ConvertFlags } from './convert/convert-on-stack';
import type { Output } from './output/output';

const appOption = ['--app <name>', 'app profile; default: default_app of the configuration'] as const;

/** Every command with its arguments, options and help. What a command does is loaded only when it runs. */
export function buildCommands(output: Output, run: Runner): Command {
  const program = new Command('fileconv')
    .description('Durable file conversion: every file is a Temporal workflow that survives crashes.')
    .version(packageVersion())
    .exitOverride()
    // Errors are reported where they are caught: in one line, or as JSON.
    .configureOutput({
      writeOut: (text) => output.print(text.trimEnd()),
      writeErr: (text) => {
        if (!output.json) output.print(text.trimEnd());
      },
      outputError: () => undefined,
    })
    .hook('preAction', (_program, command) => refuseEmpty(command))
    .addHelpText('after', examples('fileconv convert report.md --to pdf', 'fileconv up', 'fileconv formats docx'))
    .addHelpText('after', '\nExit codes: 0 all done, 1 something failed, 2 wrong usage or input, 130 interrupted.');

  common(program.command('up'))
    .description('start Temporal, the conversion service and a worker on this machine; Ctrl-C stops them')
    .addHelpText('after', examples('fileconv up', 'fileconv up --json > stack.json'))
    .action((options: CommonOptions) =>
      run(options, async (context) => (await import('./commands/up.js')).up(context)),
    );

  common(program.command('convert'))
    .description('convert files; uses the stack that `fileconv up` runs, or starts one for this command')
    .argument('<file...>', 'files to convert; put -- before a name that begins with a dash')
    .requiredOption('--to <format>', 'target format, for example pdf, docx, webp or txt-markdown', formatName)
    .option('--from <format>', 'input format; default: by the file extension', formatName)
    .option('--out <dir>', 'folder for the results, created when it is missing; default: beside each file')
    .addOption(onExistingOption('when the result exists already'))
    .addOption(onUnknownOutcomeOption())
    .addOption(modeOption())
    .option(...appOption)
    .option('--parallel <n>', 'files in flight at a time', wholeNumber, 20)
    .addHelpText(
      'after',
      examples(
        'fileconv convert report.md --to pdf',
        'fileconv convert *.docx --to pdf --out converted --on-existing skip',
        "fileconv convert photo.png --to webp --json | jq -r '.files[].output.path'",
      ),
    )
    .action((files: string[], options: CommonOptions & ConvertFlags) =>
      run(options, async (context) => (await import('./commands/convert.js')).convert(context, files, options)),
    );

  common(program.command('formats'))
    .description('list the formats that the service converts')
    .argument('[format]', 'list only what this format can be converted to', formatName)
    .option(...appOption)
    .addHelpText('after', examples('fileconv formats', 'fileconv formats docx', 'fileconv formats --json'))
    .action((format: string | undefined, options: CommonOptions & { app?: string }) =>
      run(options, async (context) =>
        (await import('./commands/formats.js')).formats(context, { format, app: options.app }),
      ),
    );

  common(program.command('worker'))
    .description('run a worker: the process that executes conversion jobs')
    .option('--unversioned', 'take work of every version, whatever worker.build_id says')
    .addHelpText('after', examples('fileconv worker', 'TEMPORAL_ADDRESS=temporal.internal:7233 fileconv worker'))
    .action((options: CommonOptions & { unversioned?: boolean }) =>
      run(options, async (context) => (await import('./commands/worker.js')).worker(context, options)),
    );

  const credits = program
    .command('credits')
    .description('jobs that wait for vCredits')
    .addHelpText('after', examples('fileconv credits restored --app billing'));
  common(credits.command('restored'))
    .description('vCredits were added: every job of the app that waits for them goes on at once')
    .option(...appOption)
    .addHelpText('after', examples('fileconv credits restored', 'fileconv credits restored --app billing --json'))
    .action((options: CommonOptions & { app?: string }) =>
      run(options, async (context) => (await import('./commands/credits.js')).creditsRestored(context, options)),
    );

  addBatch(program, { common, examples, run });
  addSchedule(program, { common, examples, run });
  addJob(program, { common, examples, run });
  addLimit(program, { common, examples, run });
  addDeployment(program, { common, examples, run });
  addNamespace(program, { common, examples, run });
  addDoctor(program, { common, examples, run });

  common(program.command('callbacks'))
    .description('run the callback receiver: wakes the jobs whose service calls back')
    .addHelpText('after', examples('fileconv callbacks', 'FILECONV_CALLBACKS_PORT=9001 fileconv callbacks'))
    .action((options: CommonOptions) =>
      run(options, async (context) => (await import('./commands/callbacks.js')).callbacks(context)),
    );

  common(program.command('codec-server'))
    .description('run the codec server: decrypts payloads for the Temporal UI')
    .addHelpText('after', examples('fileconv codec-server', 'FILECONV_CODEC_PORT=9002 fileconv codec-server'))
    .action((options: CommonOptions) =>
      run(options, async (context) => (await import('./commands/codec-server.js')).codecServer(context)),
    );

  const service = common(program.command('service'))
    .description('run the embedded conversion service on this machine')
    .addHelpText('after', examples('fileconv service', 'FILECONV_SERVICE_PORT=9000 fileconv service'))
    .action((options: CommonOptions) =>
      run(options, async (context) => (await import('./commands/service.js')).service(context)),
    );
  addServiceAdmin(service, { common, examples, run });
  common(service.command('check'))
    .description('check every rule of the API document against a conversion service')
    .option('--base-url <url>', 'the service; default: that of the app profile')
    .option('--app <id>', 'App ID at --base-url; without it the name of an app profile')
    .option('--token-env <name>', 'variable that holds the app token')
    .option('--token-file <file>', 'file that holds the app token')
    .option('--token <token>', 'the app token itself, which then shows in the process list')
    .option('--allow-plain-http', 'send the token unencrypted to another machine')
    .addHelpText(
      'after',
      examples(
        'fileconv service check',
        'fileconv service check --base-url https://api.example.com --app 1b4e28ba-2fa1-4d2e-883f-0016d3cca427 --token-env APP_TOKEN',
        'fileconv service check --json | jq \'.rules[] | select(.status == "fail")\'',
      ),
    )
    .action((options: CommonOptions & TargetFlags) =>
      run(options, async (context) => (await import('./commands/service-check.js')).serviceCheck(context, options)),
    );

  const config = program
    .command('config')
    .description('look at the configuration')
    .addHelpText('after', examples('fileconv config show'));
  common(config.command('show'))
    .description('print every effective value and where it came from; secrets are masked')
    .addHelpText('after', examples('fileconv config show', 'fileconv config show --config other.toml'))
    .action((options: CommonOptions) =>
      run(options, async (context) => (await import('./commands/config.js')).configShow(context)),
    );

  common(config.command('allow'))
    .description('allow the configuration file of this folder to send tokens to the services that it names')
    .addHelpText('after', examples('fileconv config allow'))
    .action((options: CommonOptions) =>
      run(options, async (context) => (await import('./commands/config.js')).configAllow(context)),
    );

  return program;
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
