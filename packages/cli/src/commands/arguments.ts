import { InvalidArgumentError, Option, type Command } from 'commander';
import {
  conversionModes,
  type ConversionParameters,
  formatNameOf,
  isNoticeUrl,
  isTag,
  maxTags,
  mergeParameters,
  noticeUrlProblem,
  onExistingChoices,
  type OptionPolicy,
  policies,
  type Policy,
  problemOfParameters,
  readParameter,
  unconvertibleChoices,
} from 'temporal-file-conversion/job';
import type { CommandContext, CommonOptions, Runner } from '../command-context';
import { CommandError, exitCodes, type ExitCode } from '../command-error';
import { parseDurationMs } from '../config/duration';

export function group(parent: Command, name: string, description: string): Command {
  return parent.command(name).description(description);
}

/** Declares a command with the common options. Give examples only if the usage line is not enough. */
export function command(parent: Command, name: string, description: string, ...lines: string[]): Command {
  const declared = parent
    .command(name)
    .description(description)
    .option('--config <file>', 'configuration file; default: ./fileconv.toml')
    .option('--json', 'print one JSON document to stdout')
    .option('-q, --quiet', 'print only warnings and errors')
    .option('--verbose', 'print the causes of errors; log at level debug');
  return lines.length === 0 ? declared : declared.addHelpText('after', examples(...lines));
}

export function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ ${line}`).join('\n')}`;
}

/** A command's implementation: gets its arguments, then its options. No exit code means success. */
type CommandFunction = (context: CommandContext, ...args: never[]) => Ending;
type Ending = Promise<ExitCode> | Promise<void>;

/** Makes a command's action, which loads the implementation only when it runs. */
export type Act = (
  load: () => Promise<CommandFunction>,
  rules?: Pick<CommonOptions, 'mayBeUnallowed'>,
) => (...args: unknown[]) => Promise<void>;

export function createAct(run: Runner): Act {
  return (load, rules) =>
    (...args) => {
      // The parser appends the command itself.
      const given = args.slice(0, -1);
      const options = given.at(-1) as CommonOptions;
      return run(
        { ...options, ...rules },
        async (context) => (await (await load())(context, ...(given as never[]))) ?? exitCodes.ok,
      );
    };
}

/** Refuses empty arguments and options, which come from unset variables in scripts. */
export function refuseEmpty(command: Command): void {
  const { args, registeredArguments, options } = command;
  const argument = args.indexOf('');
  const name = (registeredArguments[argument] ?? registeredArguments.at(-1))?.name() ?? '';
  if (argument !== -1) command.error(`error: argument '${name}' is empty`);
  const given: Readonly<Record<string, unknown>> = command.opts();
  const empty = options.find((option) => [given[option.attributeName()]].flat().includes(''));
  if (empty) command.error(`error: option '${empty.flags}' is empty`);
}

export function appName(text: string): string {
  if (/^[a-z0-9][a-z0-9_-]*$/i.test(text)) return text;
  throw new InvalidArgumentError('The name of an app may hold letters, digits, "-" and "_" only.');
}

export function formatName(text: string): string {
  const name = formatNameOf(text);
  if (name !== undefined) return name;
  throw new InvalidArgumentError('A format is a name such as pdf or txt-markdown.');
}

export function formatNames(text: string, before: readonly string[] = []): string[] {
  return [...new Set([...before, ...text.split(',').map(formatName)])];
}

/** For an option that names what to convert: if it were repeated, all but one value would be lost unnoticed. */
export function once(text: string, before?: string): string {
  if (before === undefined) return text;
  throw new InvalidArgumentError('It is given twice. Run the command once for each.');
}

export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  const range = max === Number.MAX_SAFE_INTEGER ? `, ${min} or more` : ` from ${min} to ${max}`;
  return (text) => {
    const value = Number(text);
    if (/^\d{1,15}$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number${range}.`);
  };
}

/** Log files of a stack, one per part; `up`: what a detached stack would print on its terminal. */
export const logNames = ['up', 'worker', 'service', 'callbacks', 'temporal'] as const;

/** For `init`. Unlike the parser's message, the error does not repeat the value, which may be the token itself. */
export function variableName(text: string): string {
  if (/^[A-Za-z_]\w*$/.test(text)) return text;
  throw new CommandError('USAGE', ['--token-env must be the name of a variable, such as CONVERSION_TOKEN.']);
}

function collectTag(value: string, before: string[] = []): string[] {
  if (before.length === maxTags) throw new InvalidArgumentError(`There are at most ${maxTags} tags.`);
  return [...before, tagText(value)];
}

export function tagText(text: string): string {
  if (isTag(text)) return text;
  throw new InvalidArgumentError('A tag has 1 to 100 characters, and no double quotes or backslashes.');
}

function collectParameter(text: string, before?: ConversionParameters): ConversionParameters | undefined {
  const read = readParameter(text);
  const problem = read ? problemOfParameters(read) : 'must be written as in dpi=300';
  // Unlike the parser's message, the error does not repeat the value, which may be a password.
  if (problem !== undefined) throw new CommandError('USAGE', [`--param ${problem}. See: fileconv convert --help`]);
  const [name = ''] = Object.keys(read ?? {});
  if (before && Object.hasOwn(before, name)) throw new CommandError('USAGE', [`--param ${name} is given twice.`]);
  return mergeParameters(before, read);
}

/** Parses a duration ago or a time. Days begin in UTC. */
export function pointInTime(text: string): Date {
  if (text === 'today') return new Date(new Date().setUTCHours(0, 0, 0, 0));
  const ago = parseDurationMs(text);
  if (ago !== undefined) return new Date(Date.now() - ago);
  if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(Date.parse(text))) return new Date(text);
  throw new InvalidArgumentError(
    'It must be a time such as 2h or 7d ago, today, or an ISO time such as 2026-11-21T06:00Z.',
  );
}

export const appOption = ['--app <name>', 'app profile; default: default_app'] as const;

export const recursiveOption = ['--recursive', 'include subfolders'] as const;

export const excludeOption = new Option('--exclude <pattern>', 'skip matching files and folders; repeatable')
  .argParser((value: string, before: string[]) => [...before, value])
  .default([]);

const tagOption = ['--tag <text>', 'label, for fileconv job list --tag; repeatable', collectTag] as const;

export const parameterOption = new Option(
  '--param <name=value>',
  'service parameter, such as dpi=300; repeatable',
).argParser(collectParameter);

export function onExistingOption(when: string): Option {
  return new Option('--on-existing <what>', when).choices(onExistingChoices).default(undefined, 'fail');
}

export const unconvertibleOption = new Option('--unconvertible <what>', 'unconvertible files')
  .choices(unconvertibleChoices)
  .default(undefined, 'fail');

export const policyOptions = Object.fromEntries(
  Object.entries<Policy>(policies).flatMap(([name, policy]) => {
    if (policy.kind !== 'choice' || policy.option === undefined) return [];
    const flag = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} <what>`;
    return [[name, new Option(flag, policy.option).choices(policy.choices).default(undefined, policy.default)]];
  }),
) as Record<OptionPolicy, Option>;

export const runsOption = ['--runs <dir>', 'folder for the reports; default: the state folder'] as const;

export const templateOption = ['--template <text>', 'path below --out; default: {dir}/{name}.{ext}'] as const;

export const resubmitOption = ['--resubmit', 'also after unknown outcomes; may charge twice'] as const;

export const againOption = ['--again', 'convert again even if done, at a new charge'] as const;

/** Unlike the parser's message, the error does not repeat the URL, which may hold a password. */
export const notifyOption = new Option('--notify <url>', 'URL for notices, in place of the one in [notify]').argParser(
  (text) => {
    if (!isNoticeUrl(text)) throw new CommandError('USAGE', [`--notify ${noticeUrlProblem}.`]);
    return text;
  },
);

export const maxVcreditsOption = [
  '--max-vcredits <n>',
  'start no more jobs once all runs cost this much',
  (text: string): number => {
    if (/^\d{1,15}(\.\d{1,6})?$/.test(text) && Number(text) > 0) return Number(text);
    throw new InvalidArgumentError('It must be a number above 0, such as 500.');
  },
] as const;

export const onEndOption = ['--on-end <program>', 'run this program when the batch has ended'] as const;

const modeOption = new Option('--mode <mode>', 'mode of the convert request')
  .choices(conversionModes)
  .default(undefined, 'async');

/** Adds the options of every command that converts files. `when` is the help of `--on-existing`. */
export function addConversionOptions(command: Command, when: string): Command {
  const converting = command
    .option('--from <format>', 'input format; default: by the file extension', formatName)
    .addOption(parameterOption)
    .option(...recursiveOption)
    .addOption(excludeOption)
    .addOption(onExistingOption(when))
    .option(...resubmitOption)
    .option(...againOption)
    .addOption(modeOption)
    .option(...tagOption)
    .option(...appOption);
  return Object.values(policyOptions).reduce((all, option) => all.addOption(option), converting);
}
