import { InvalidArgumentError, Option, type Command } from 'commander';
import {
  conversionModes,
  onExistingChoices,
  onUnknownOutcomeChoices,
  unconvertibleChoices,
} from 'temporal-file-conversion/internal/shared/policies';
import {
  mergeParameters,
  problemOfParameters,
  readParameter,
  type ConversionParameters,
} from 'temporal-file-conversion/internal/shared/parameters';
import { isTag, maxTags } from 'temporal-file-conversion/internal/shared/tags';
import { formatNameOf } from 'temporal-file-conversion/internal/shared/format-name';
import { CommandError } from '../command-error';
import { parseDurationMs } from '../config/duration';

/** Refuses empty arguments and options: they come from unset variables of scripts. */
export function refuseEmpty(command: Command): void {
  const { args, registeredArguments, options } = command;
  const argument = args.indexOf('');
  const name = (registeredArguments[argument] ?? registeredArguments.at(-1))?.name() ?? '';
  if (argument !== -1) command.error(`error: argument '${name}' is empty`);
  const given: Readonly<Record<string, unknown>> = command.opts();
  const empty = options.find((option) => [given[option.attributeName()]].flat().includes(''));
  if (empty) command.error(`error: option '${empty.flags}' is empty`);
}

/** Of `--to` and `--from`. */
export function formatName(text: string): string {
  const name = formatNameOf(text);
  if (name !== undefined) return name;
  throw new InvalidArgumentError('A format is a name such as pdf or txt-markdown.');
}

/** Of `convert --to`: `pdf`, or several such as `pdf,docx,html`. */
export function formatNames(text: string): string[] {
  return [...new Set(text.split(',').map(formatName))];
}

/** A whole number from `least` on. */
export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  const range = most === Number.MAX_SAFE_INTEGER ? `, ${least} or more` : ` from ${least} to ${most}`;
  return (text) => {
    const value = Number(text);
    if (/^\d{1,15}$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It must be a whole number${range}.`);
  };
}

function collect(value: string, before: string[]): string[] {
  return [...before, value];
}

/** Of `--tag`, which may be given more than once. */
export function collectTag(value: string, before: string[] = []): string[] {
  if (before.length === maxTags) throw new InvalidArgumentError(`There are at most ${maxTags} tags.`);
  return [...before, tagText(value)];
}

export function tagText(text: string): string {
  if (isTag(text)) return text;
  throw new InvalidArgumentError('A tag has 1 to 100 characters, and no double quotes or backslashes.');
}

export function parameterOption(): Option {
  const description = 'for the service beside the formats, such as dpi=300; may be given more than once';
  return new Option('--param <name=value>', description).argParser(collectParameter);
}

function collectParameter(text: string, before?: ConversionParameters): ConversionParameters | undefined {
  const read = readParameter(text);
  const problem = read ? problemOfParameters(read) : 'must be written as in dpi=300';
  // Unlike the parser's own complaint it repeats nothing of the value, which may be a password.
  if (problem !== undefined) throw new CommandError('USAGE', [`--param ${problem}. See: fileconv convert --help`]);
  const [name = ''] = Object.keys(read ?? {});
  if (before && Object.hasOwn(before, name)) throw new CommandError('USAGE', [`--param ${name} is given twice.`]);
  return mergeParameters(before, read);
}

/** A duration ago, or a time. Days begin in UTC. */
export function pointInTime(text: string): Date {
  if (text === 'today') return new Date(new Date().setUTCHours(0, 0, 0, 0));
  const ago = parseDurationMs(text);
  if (ago !== undefined) return new Date(Date.now() - ago);
  if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(Date.parse(text))) return new Date(text);
  throw new InvalidArgumentError(
    'It must be a time such as 2h or 7d ago, today, or an ISO time such as 2026-11-21T06:00Z.',
  );
}

export const appOption = ['--app <name>', 'app profile; default: default_app of the configuration'] as const;

export const recursiveOption = ['--recursive', 'look into the folders of folders'] as const;

const noPatterns: string[] = [];
export const excludeOption = [
  '--exclude <pattern>',
  'leave out what fits; may be given more than once',
  collect,
  noPatterns,
] as const;

/** What becomes of an existing file. */
export function onExistingOption(when: string): Option {
  return new Option('--on-existing <what>', `${when} (default: fail)`).choices(onExistingChoices);
}

export function unconvertibleOption(): Option {
  const description = 'what becomes of files that the service is known not to convert (default: fail)';
  return new Option('--unconvertible <what>', description).choices(unconvertibleChoices);
}

export function onUnknownOutcomeOption(): Option {
  const description = 'when it is not known whether a conversion ran (default: resubmit)';
  return new Option('--on-unknown-outcome <what>', description).choices(onUnknownOutcomeChoices);
}

export function modeOption(): Option {
  const description =
    'sync: wait for each conversion in the request itself, for ones that take seconds (default: async)';
  return new Option('--mode <mode>', description).choices(conversionModes);
}
