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
import { answerAboutPair, type ConversionApi, isUnknownFormat } from 'temporal-file-conversion/http';
import { extensionFromName } from 'temporal-file-conversion/job';
import { noConverter } from 'temporal-file-conversion/messages';
import type { CommandContext } from '../command-context';
import { runningServiceUrl } from '../service/embedded-service';

export interface TypedPair {
  /** Of the file, in lower case, without the dot. */
  extension: string;
  /** `--from`; without it the extension decides. */
  from: string | undefined;
  to: string;
}

/** What a service converts, as the CLI asks before it starts anything. */
export interface FormatLookup {
  /** A target format; undefined when the service knows none of this name. */
  target(format: string): Promise<{ extension: string } | undefined>;
  /** Why it does not convert such files, and what to type next; undefined when it does. */
  whyNot(pair: TypedPair): Promise<string | undefined>;
  /** What the service itself answers, whatever the files are called. */
  answerAboutPair(pair: { input: string; output: string }): ReturnType<typeof answerAboutPair>;
  inputs(): Promise<Format[]>;
  /** All targets, or those of one input format; undefined when there is no such format. */
  targets(input?: string): Promise<Format[] | undefined>;
}

/** What the embedded service converts on this machine, with the engines that its configuration names. */
export function embeddedCatalog({ config }: Pick<CommandContext, 'config'>): FormatCatalog {
  return new FormatCatalog({ engines: config.values.service.engines });
}

/** Whether the engines were left out of this installation, as in the image of the worker, and an embedded service runs that may have them. */
export async function leavesEnginesToService(context: CommandContext): Promise<boolean> {
  const isInstalled = engines.some(({ needs }) => needs.some((need) => 'npm' in need && isHere(need)));
  return !isInstalled && (await runningServiceUrl(context)) !== undefined;
}

/** The same for a check. The tables come with this package, so no service has to run. */
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

/** What the embedded service itself would answer. */
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
 * What a service says it converts. Every method asks it each time.
 * @param signal ends a question under way.
 * @throws ConversionApiError
 */
export function serviceFormats(api: ConversionApi, signal?: AbortSignal): FormatLookup {
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
