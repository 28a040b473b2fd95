import { ConversionApiError } from 'temporal-file-conversion/http';
import { extensionFromName } from 'temporal-file-conversion/job';
import { closestName } from 'temporal-file-conversion/messages';
import type { CommandContext } from '../command-context';
import { CommandError, interrupted } from '../command-error';
import type { TypedInput } from '../convert/plan';
import { isEmbedded, openApi } from '../service/app-profiles';
import { explainServiceFailure, explainSilence } from '../service/service-problem';
import { embeddedCatalog, embeddedFormats, leavesEnginesToService, serviceFormats, type FormatLookup } from './lookup';

/** The extension of results in a format, after a check that the file, if there is one yet, converts, as far as that can be known. */
export async function settleFormat(
  context: CommandContext,
  app: string,
  { signal, ...wanted }: WantedFormat & { signal?: AbortSignal },
): Promise<string> {
  const ask = (lookup: FormatLookup) => checkFormat(lookup, wanted);
  return (await withFormats(context, app, ask, { signal })) ?? extensionFromName(wanted.to);
}

interface FormatQuestion {
  /** Ends the questions. */
  signal?: AbortSignal | undefined;
  /** A service that can't be reached is only a warning, since nothing is sent to it yet. Default: no. */
  mayBeAway?: boolean;
  /** Whatever keeps it from answering is a failure. Default: a busy service, or one without these endpoints, is a warning. */
  mustAnswer?: boolean;
}

/**
 * Asks what an app's service converts: the tables of the embedded one where this machine has its engines, without a request, and
 * otherwise the service, which also shows that it is reachable and accepts the token.
 *
 * @returns what `ask` returns; undefined, after a warning, when nothing could be found out: the jobs will find out themselves.
 * @throws CommandError, of which `INTERRUPTED` when the signal aborts; whatever `ask` throws.
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
    const silence = explainSilence(error, { app, baseUrl });
    context.output.warn(silence ?? `The formats could not be checked beforehand: ${(explained ?? error).message}`);
    return undefined;
  } finally {
    await api.close();
  }
}

interface WantedFormat {
  input?: TypedInput;
  from?: string | undefined;
  to: string;
}

/** @returns the extension of the results. @throws CommandError about a file that it does not convert. */
async function checkFormat(lookup: FormatLookup, { input, from, to }: WantedFormat): Promise<string> {
  const target = await lookup.target(to);
  if (!target) throw new CommandError('FORMAT_UNUSABLE', [await unknownTarget(lookup, to)]);
  if (!input) return target.extension;
  const { extension, file } = input;
  const refusal =
    extension === ''
      ? `by the extension of its name the service tells a file's format, and there is none. ${cureOf(file)}`
      : await lookup.whyNot({ extension, from, to });
  if (refusal) throw new CommandError('FORMAT_UNUSABLE', [`${file} can't be converted: ${refusal}`]);
  return target.extension;
}

function cureOf(file: string): string {
  if (/^https?:/i.test(file)) return 'Download it to a file whose name has one, and convert that.';
  // A bucket without the slash behind it.
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
