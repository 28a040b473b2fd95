import {
  chooseInput,
  describeFormat,
  engines,
  FormatCatalog,
  isHere,
  requireFormat,
  requireRoute,
  TaskError,
} from 'temporal-file-conversion-service/engines';
import type { Format } from 'temporal-file-conversion/contract';
import {
  answerAboutPair,
  type ConversionApi,
  ConversionApiError,
  isUnknownFormat,
} from 'temporal-file-conversion/http';
import { extensionFromName } from 'temporal-file-conversion/job';
import { closestName, noConverter, shellWord } from 'temporal-file-conversion/messages';
import type { CommandContext } from '../command-context';
import { CommandError, interrupted } from '../command-error';
import { runningServiceUrl } from '../service/embedded-service';
import { explainServiceFailure, isEmbedded, openApi } from '../service/profiles';

export interface TypedPair {
  extension: string;
  from: string | undefined;
  to: string;
}

/** Questions about a service's conversions, asked before anything is started. */
export interface FormatLookup {
  target(format: string): Promise<{ extension: string } | undefined>;
  /** Why the service does not convert such files, and what to type next; undefined if it does. */
  whyNot(pair: TypedPair): Promise<string | undefined>;
  /** The service's own answer, independent of file names. */
  answerAboutPair(pair: { input: string; output: string }): ReturnType<typeof answerAboutPair>;
  inputs(): Promise<Format[]>;
  /** All targets, or those of one input format; undefined if that format is unknown. */
  targets(input?: string): Promise<Format[] | undefined>;
}

/** What the embedded service converts on this machine with the configured engines. */
export function embeddedCatalog({ config }: Pick<CommandContext, 'config'>): FormatCatalog {
  return new FormatCatalog({ engines: config.values.service.engines });
}

/** Whether this installation has no engines, as in the worker's image, but an embedded service runs that may have them. */
export async function leavesEnginesToService(context: CommandContext): Promise<boolean> {
  const isInstalled = engines.some(({ needs }) => needs.some((need) => 'npm' in need && isHere(need)));
  return !isInstalled && (await runningServiceUrl(context)) !== undefined;
}

/** The embedded service's answers, from the tables in this package: no service has to run. */
export function embeddedFormats(catalog = new FormatCatalog()): FormatLookup {
  return {
    target(format) {
      const row = catalog.findOutput(format);
      return Promise.resolve(row && { extension: row.extensions[0] });
    },
    whyNot: (pair) => Promise.resolve(refusalOf(catalog, pair)),
    answerAboutPair({ input: from, output: to }) {
      const [input, output] = [catalog.find(from), catalog.findOutput(to)];
      if (!input) return Promise.resolve('unknownInput');
      return Promise.resolve(output ? catalog.converts(input, output) : 'unknownOutput');
    },
    inputs: () => Promise.resolve(catalog.list('inputs').map(describeFormat)),
    targets(name) {
      const input = name === undefined ? undefined : catalog.find(name);
      if (name !== undefined && !input) return Promise.resolve(undefined);
      return Promise.resolve(catalog.list('outputs', input).map(describeFormat));
    },
  };
}

/** The embedded service's own refusal, if any. */
function refusalOf(catalog: FormatCatalog, { extension, from, to }: TypedPair): string | undefined {
  try {
    const input = chooseInput(catalog, { named: from, fileName: `file.${extension}` });
    requireRoute(catalog, input, requireFormat(catalog, to, 'output'));
    return undefined;
  } catch (error) {
    if (!(error instanceof TaskError)) throw error;
    if (error.message.includes('Run: ')) return error.message;
    const isPair = error.code === 'NO_CONVERTER_INPUT_TO_OUTPUT';
    return isPair ? noConverter(from ?? extension, to) : `${error.message} See: fileconv formats`;
  }
}

/**
 * A service's own answers. Every call asks it again.
 * @param signal aborts a question in flight.
 * @throws ConversionApiError
 */
function serviceFormats(api: ConversionApi, signal?: AbortSignal): FormatLookup {
  return {
    async target(format) {
      const found = await unlessUnknown(api.format({ format, signal }));
      if (!found) return undefined;
      const { extension } = found;
      const isUsable = extension != null && /^[a-z0-9]{1,16}$/i.test(extension);
      return { extension: isUsable ? extension : extensionFromName(format) };
    },
    async whyNot({ extension, from, to }) {
      const input = from ?? extension;
      const answer = await answerAboutPair(api, { input, output: to, signal });
      if (answer === true) return undefined;
      if (answer === false) return noConverter(input, to);
      return `the service knows no format ${answer === 'unknownInput' ? input : to}. See: fileconv formats`;
    },
    answerAboutPair: (pair) => answerAboutPair(api, { ...pair, signal }),
    inputs: () => api.formats({ sublist: 'inputs', signal }),
    targets: (format) => unlessUnknown(api.formats({ sublist: 'outputs', format, signal })),
  };
}

async function unlessUnknown<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isUnknownFormat(error)) return undefined;
    throw error;
  }
}

/** The extension of results in a format. Checks first, as far as possible, that the file, if there is one yet, converts. */
export async function settleFormat(
  context: CommandContext,
  app: string,
  { signal, ...wanted }: WantedFormat & { signal?: AbortSignal },
): Promise<string> {
  const ask = (lookup: FormatLookup) => checkFormat(lookup, wanted);
  return (await withFormats(context, app, ask, { signal })) ?? extensionFromName(wanted.to);
}

interface FormatQuestion {
  signal?: AbortSignal | undefined;
  /** An unreachable service is only a warning, because nothing is sent to it yet. Default: no. */
  mayBeAway?: boolean;
  /** Any failure to answer is an error. Default: a busy service, or one without these endpoints, is a warning. */
  mustAnswer?: boolean;
}

/**
 * Asks what an app's service converts. For the embedded one with engines on this machine, reads the tables without a request;
 * otherwise asks the service, which also shows that it is reachable and accepts the token.
 *
 * @returns what `ask` returns; undefined, after a warning, if that could not be found out: the jobs will.
 * @throws CommandError, `INTERRUPTED` if the signal aborts; whatever `ask` throws.
 */
export async function withFormats<T>(
  context: CommandContext,
  app: string,
  ask: (lookup: FormatLookup) => Promise<T>,
  { signal, mayBeAway = false, mustAnswer = false }: FormatQuestion,
): Promise<T | undefined> {
  if (isEmbedded(context, app) && !(await leavesEnginesToService(context)))
    return ask(embeddedFormats(embeddedCatalog(context)));
  const { api, baseUrl } = await openApi(context, app);
  try {
    return await ask(serviceFormats(api, signal));
  } catch (error) {
    if (!(error instanceof ConversionApiError)) throw error;
    if (signal?.aborted === true) throw interrupted(error);
    const explained = explainServiceFailure(error, { app, baseUrl });
    if (explained && !(mayBeAway && explained.code === 'SERVICE_UNREACHABLE')) throw explained;
    if (mustAnswer) throw error;
    const warning =
      error.code === 'REQUEST_TIMEOUT'
        ? `The conversion service of app ${app} does not answer the question about formats (${baseUrl}); conversions wait until it answers. What is broken: fileconv doctor --app ${shellWord(app)}`
        : `The formats could not be checked beforehand: ${(explained ?? error).message}`;
    context.output.warn(warning);
    return undefined;
  } finally {
    await api.close();
  }
}

interface WantedFormat {
  /** The file as typed, and the extension of its name. */
  input?: { file: string; extension: string };
  from?: string | undefined;
  to: string;
}

/** @returns the extension of the results. @throws CommandError if the service does not convert the file. */
async function checkFormat(lookup: FormatLookup, { input, from, to }: WantedFormat): Promise<string> {
  const target = await lookup.target(to);
  if (!target) throw new CommandError('FORMAT_UNUSABLE', [await unknownTarget(lookup, to)]);
  if (!input) return target.extension;
  const { extension, file } = input;
  const refusal =
    extension === ''
      ? `the service takes a file's format from the extension of its name, and there is none. ${fixOf(file)}`
      : await lookup.whyNot({ extension, from, to });
  if (refusal) throw new CommandError('FORMAT_UNUSABLE', [`${file} can't be converted: ${refusal}`]);
  return target.extension;
}

function fixOf(file: string): string {
  if (/^https?:/i.test(file)) return 'Download it to a file whose name has one, and convert that.';
  // A bucket without the trailing slash.
  return /^[a-z][a-z0-9+.-]*:\/\/[^/]+$/i.test(file)
    ? `All that it holds: ${file}/`
    : `Rename it, for example to ${file}.md.`;
}

async function unknownTarget(lookup: FormatLookup, to: string): Promise<string> {
  const closest = closestName(
    to,
    ((await lookup.targets()) ?? []).map(({ format }) => format),
  );
  const hint = closest === undefined ? '' : ` Did you mean ${closest}?`;
  return `The service knows no format ${to}.${hint} See: fileconv formats`;
}
