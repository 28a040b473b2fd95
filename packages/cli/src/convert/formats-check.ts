import type { KnownErrorCode } from 'temporal-file-conversion/contract';
import { closestName } from 'temporal-file-conversion/internal/shared/closest-name';
import { CommandError, throwIfAny } from '../command-error';
import type { FormatLookup, FormatPair, PairProblem } from '../formats/format-lookup';
import { nameOf } from '../formats/format-lookup';
import type { ConvertInput } from './inputs';

export interface WantedFormats {
  inputs: readonly ConvertInput[];
  from: string | undefined;
  to: string;
}

/**
 * Finds out whether the service converts each of the files, before anything is started.
 * @returns the extension of the results.
 * @throws CommandError with a line for each kind of file that it does not convert; whatever the lookup throws.
 */
export async function checkFormats(lookup: FormatLookup, { inputs, from, to }: WantedFormats): Promise<string> {
  const target = await lookup.target(to);
  if (!target) throw new CommandError('FORMAT_UNUSABLE', [capitalised(await unknownTarget(lookup, to))]);
  const problems: string[] = [];
  for (const extension of new Set(inputs.map((input) => input.extension))) {
    const files = inputs.filter((input) => input.extension === extension).map(({ file }) => file);
    const [first = '', ...others] = files;
    const who = others.length === 0 ? first : `${first} and ${others.length} more`;
    const refusal = await whyNot(lookup, { extension, from, to }, first);
    if (refusal) problems.push(`${who} can't be converted: ${refusal.reason}`);
  }
  throwIfAny('FORMAT_UNUSABLE', problems);
  return target.extension;
}

/** Why files of a pair are not converted. */
export interface WhyNot {
  /** What a job would fail with. */
  code: KnownErrorCode;
  reason: string;
  /** The service knows no format of the extension's name; it may know the extension all the same, as `jpeg` of `jpg`. */
  isGuess?: true;
}

/** Why the service does not convert such files, of which one is named, and what to type next; undefined when it does. */
export async function whyNot(lookup: FormatLookup, pair: FormatPair, file = 'NAME'): Promise<WhyNot | undefined> {
  if (pair.extension === '') {
    const reason = `by the extension of its name the service tells a file's format, and there is none. Rename it, for example to ${file}.md.`;
    return { code: 'NOT_VALID_EXTENSION', reason };
  }
  const problem = await lookup.problemOf(pair);
  if (!problem) return undefined;
  const reason = problem.kind === 'unknownOutput' ? await unknownTarget(lookup, pair.to) : explain(problem, pair);
  const isGuess = problem.kind === 'unknownInput' && pair.from === undefined;
  return { code: codeOf(problem, pair), reason, ...(isGuess && { isGuess }) };
}

/** An extension that nobody knows is refused with the upload already. */
function codeOf({ kind }: PairProblem, { from }: FormatPair): KnownErrorCode {
  switch (kind) {
    case 'unknownInput':
      return from === undefined ? 'NOT_VALID_EXTENSION' : 'INVALID_INPUT_FORMAT';
    case 'unknownOutput':
      return 'INVALID_OUTPUT_FORMAT';
    case 'unsupportedExtension':
      return 'NOT_VALID_EXTENSION';
    case 'extensionMismatch':
      return 'NOT_MATCH_EXTENSION_AND_INPUT';
    case 'noConverter':
      return 'NO_CONVERTER_INPUT_TO_OUTPUT';
  }
}

async function unknownTarget(lookup: FormatLookup, to: string): Promise<string> {
  const closest = closestName(to, ((await lookup.targets()) ?? []).map(nameOf));
  const hint = closest === undefined ? '' : ` Did you mean ${closest}?`;
  return `the service knows no format ${to}.${hint} See: fileconv formats`;
}

function explain(
  problem: Exclude<PairProblem, { kind: 'unknownOutput' }>,
  { extension, from: input = extension, to }: FormatPair,
): string {
  switch (problem.kind) {
    case 'unknownInput':
      return `the service knows no format ${input}. See: fileconv formats`;
    case 'unsupportedExtension':
      return `the service takes no .${extension} files. See what it reads: fileconv formats`;
    case 'extensionMismatch':
      return `a .${extension} file is not of the format ${input}. Leave out --from, or rename the file.`;
    case 'noConverter':
      return problem.missingPackages
        ? `a package is missing that converts ${input} to ${to}. Run: npm install ${problem.missingPackages.join(' ')}`
        : `the service does not convert ${input} to ${to}. See what it converts ${input} to: fileconv formats ${input}`;
  }
}

export function capitalised(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
