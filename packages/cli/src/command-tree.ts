import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Argument, Command, type Option } from 'commander';
import type { Runner } from './command-context';
import {
  type Act,
  addConversionOptions,
  appName,
  appOption,
  command,
  createAct,
  examples,
  formatName,
  formatNames,
  group,
  logNames,
  refuseEmpty,
  variableName,
  wholeNumber,
} from './commands/arguments';
import { addBatch } from './commands/batch/register';
import { addJob } from './commands/job/register';
import { addSchedule } from './commands/schedule/register';
import { addServiceAdmin } from './commands/service-admin/register';
import { completionScripts, completionsOf } from './output/completion';
import type { Output } from './output/output';

/** Declares every command with its arguments, options and help. Its implementation is loaded only when it runs. */
export function buildCommands(output: Output, run: Runner): Command {
  const program = new Command('fileconv')
    .description('Durable file conversion: every file is a Temporal workflow that survives crashes.')
    .version(packageVersion())
    .exitOverride()
    .configureHelp({ optionDescription })
    // Errors are reported where they are caught, as one line or as JSON.
    .configureOutput({
      writeOut: (text) => output.print(text.trimEnd()),
      writeErr: (text) => {
        if (!output.json) output.print(text.trimEnd());
      },
      outputError: () => undefined,
    })
    .hook('preAction', (_program, ran) => {
      // Completion passes an empty word before anything is typed.
      if (ran.name() !== 'complete') refuseEmpty(ran);
    })
    .addHelpText('after', examples('fileconv convert report.md --to pdf', 'fileconv up', 'fileconv formats docx'))
    .addHelpText('after', '\nExit codes: 0 all done, 1 something failed, 2 wrong usage or input, 130 Ctrl-C.');
  const act = createAct(run);

  addStack(program, act);
  const convert = command(
    program,
    'convert',
    'convert one file, or several as a batch, on the running stack or on one started for this command',
    'fileconv convert report.md --to pdf',
    'fileconv convert report.md --to pdf,docx,html --out converted',
    'fileconv convert *.docx --to pdf --out converted --on-existing skip',
    'cat report.md | fileconv convert - --from md --to pdf --out - > report.pdf',
    'fileconv convert photo.png --to webp --json | jq -r .output.path',
  )
    .argument(
      '<file...>',
      'files, folders, quoted patterns, or - for standard input; put -- before names that begin with a dash',
    )
    .requiredOption('--to <format>', 'target format, or several: pdf,docx', formatNames)
    .option('--out <dir>', 'folder for the results, or - for standard output; default: beside each file');
  addConversionOptions(convert, 'a result that already exists').action(
    act(async () => (await import('./commands/convert.js')).convert),
  );
  command(
    program,
    'formats',
    'list the formats that the service converts',
    'fileconv formats docx',
    'fileconv formats --engines',
  )
    .argument('[format]', 'list only what this format can be converted to', formatName)
    .option('--engines', 'list the engines of the embedded service: which are installed, and what the others would add')
    .option(...appOption)
    .action(act(async () => (await import('./commands/formats.js')).formats));
  command(
    program,
    'worker',
    'run a worker, the process that executes conversion jobs',
    'TEMPORAL_ADDRESS=temporal.internal:7233 fileconv worker',
  ).action(act(async () => (await import('./commands/worker.js')).worker));
  command(
    group(program, 'app', 'manage apps whose jobs are parked'),
    'ready',
    'let all parked jobs of an app try again now, for example after adding vCredits or fixing its token, plan or disk',
    'fileconv app ready --app billing',
  )
    .option(...appOption)
    .action(act(async () => (await import('./commands/app-ready.js')).readyApp));
  addBatch(program, run);
  addSchedule(program, act);
  addJob(program, act);
  command(
    group(program, 'namespace', 'prepare a Temporal namespace'),
    'init',
    'register the search attributes that jobs are listed by; safe to repeat',
  ).action(act(async () => (await import('./commands/namespace-init.js')).namespaceInit));
  command(
    program,
    'doctor',
    'check everything a conversion needs, and say how to fix what is broken',
    'fileconv doctor --json | jq \'.findings[] | select(.status == "broken")\'',
  )
    .option('--app <name>', 'check only the service of this app profile; default: all configured ones')
    .action(act(async () => (await import('./commands/doctor.js')).doctor));
  command(
    program,
    'callbacks',
    'run the callback receiver, which wakes jobs when the service calls back',
    'FILECONV_CALLBACKS_PORT=9001 fileconv callbacks',
  ).action(act(async () => (await import('./commands/callbacks.js')).callbacks));
  command(
    program,
    'codec-server',
    'run the codec server, which decrypts payloads for the Temporal UI',
    'FILECONV_CODEC_PORT=9002 fileconv codec-server',
  ).action(act(async () => (await import('./commands/codec-server.js')).codecServer));
  addCompletion(program, output);
  addService(program, act);
  addConfig(program, act);
  groupForHelp(program);
  return program;
}

function packageVersion(): string {
  const file = path.resolve(__dirname, '../package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

/** Choices after the description, so that most options take one line. */
function optionDescription({ description, argChoices, defaultValue, defaultValueDescription }: Option): string {
  const shown = defaultValueDescription ?? (Array.isArray(defaultValue) ? undefined : (defaultValue as unknown));
  const marked = (each: string) => (each === shown ? `${each} (default)` : each);
  if (argChoices) return [description, argChoices.map(marked).join(', ')].filter(Boolean).join(': ');
  return shown === undefined ? description : `${description} (default: ${JSON.stringify(shown)})`;
}

/** Order of the help: daily commands first. */
const groups = {
  'Convert:': ['convert', 'batch', 'schedule', 'job', 'formats'],
  'This machine:': ['up', 'status', 'open', 'logs', 'down', 'doctor', 'init', 'config', 'completion'],
  'In production:': ['worker', 'app', 'namespace', 'callbacks', 'service', 'codec-server'],
} as const;

function groupForHelp({ commands }: Command): void {
  const order: string[] = Object.values(groups).flat();
  (commands as Command[]).sort((one, other) => order.indexOf(one.name()) - order.indexOf(other.name()));
  for (const [heading, names] of Object.entries(groups)) {
    for (const each of commands) if ((names as readonly string[]).includes(each.name())) each.helpGroup(heading);
  }
}

function addStack(program: Command, act: Act): void {
  command(
    program,
    'up',
    'start Temporal, the conversion service and a worker on this machine; Ctrl-C stops them',
    'fileconv up --detach',
  )
    .option('--detach', 'run in the background; stop with fileconv down')
    .option('--no-ui', 'do not start the Temporal UI, which a web page could reach by DNS rebinding')
    .action(act(async () => (await import('./commands/stack.js')).up));
  command(program, 'status', 'show whether a stack runs here, and its addresses').action(
    act(async () => (await import('./commands/stack.js')).status),
  );
  command(
    program,
    'open',
    'open the Temporal UI in a browser, at a job or batch if you name one; for a finished batch, open its report',
    'fileconv open letters-pdf',
  )
    .argument('[name]', 'id of a job, or name of a batch')
    .action(act(async () => (await import('./commands/open.js')).openPage));
  command(program, 'down', 'stop the stack that runs here; its jobs continue on the next one').action(
    act(async () => (await import('./commands/stack.js')).down),
  );
  command(program, 'logs', 'print the last log lines of each part of the stack', 'fileconv logs worker --follow')
    .addArgument(new Argument('[part]', 'only this part').choices(logNames))
    .option('--lines <n>', 'lines per part', wholeNumber(1), 20)
    .option('--follow', 'keep printing new lines until Ctrl-C')
    .action(act(async () => (await import('./commands/stack.js')).logs));
}

function addCompletion(program: Command, output: Output): void {
  program
    .command('completion')
    .description('print a completion script for your shell')
    .addArgument(new Argument('<shell>').choices(Object.keys(completionScripts)))
    .addHelpText('after', examples('source <(fileconv completion bash)', 'fileconv completion fish | source'))
    .action((shell: string) => output.print(completionScripts[shell] ?? ''));
  program.command('complete [words...]', { hidden: true }).action((words: string[]) => {
    for (const each of completionsOf(program, words)) output.print(each);
  });
}

function addService(program: Command, act: Act): void {
  const service = command(
    program,
    'service',
    'run the embedded conversion service on this machine',
    'FILECONV_SERVICE_PORT=9000 fileconv service',
  ).action(act(async () => (await import('./commands/service.js')).service));
  addServiceAdmin(service, act);
  command(
    service,
    'check',
    'test a conversion service against every rule of the API document',
    'fileconv service check --app billing',
    'fileconv service check --json | jq \'.rules[] | select(.status == "fail")\'',
  )
    .option(...appOption)
    .action(act(async () => (await import('./commands/service-check.js')).serviceCheck));
}

function addConfig(program: Command, act: Act): void {
  command(
    program,
    'init',
    'write a fileconv.toml for an account at a conversion service; not needed for fileconv up',
    'fileconv init --service https://conversion.example.com --app-id c0a8f1de-3b6f-4c7e-9a55-0e1f2d3c4b5a',
  )
    .requiredOption('--service <url>', 'base URL of the service, without /v1')
    .requiredOption('--app-id <id>', 'App ID of the account')
    .option('--app <name>', 'name of the app profile', appName, 'production')
    .option(
      '--token-env <variable>',
      'environment variable with the app token, which is not written to the file',
      variableName,
      'CONVERSION_TOKEN',
    )
    .action(act(async () => (await import('./commands/init.js')).init, { mayBeUnallowed: true }));
  const config = group(program, 'config', 'inspect the configuration');
  command(config, 'show', 'print every effective value and its origin, with secrets masked').action(
    act(async () => (await import('./commands/config.js')).configShow, { mayBeUnallowed: true }),
  );
  command(
    config,
    'allow',
    'trust this folder: its state folder, and the addresses, secrets and paths in its fileconv.toml',
  ).action(act(async () => (await import('./commands/config.js')).configAllow, { mayBeUnallowed: true }));
}
