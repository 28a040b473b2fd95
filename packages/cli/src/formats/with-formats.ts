import { ConversionApiError } from 'temporal-file-conversion/internal/api/errors';
import { isEmbedded } from '../app-profiles';
import type { CommandContext } from '../command-context';
import { interrupted } from '../command-error';
import { explainServiceFailure, explainSilence } from '../service-problem';
import { embeddedFormats } from './embedded-formats';
import type { FormatLookup } from './format-lookup';
import { serviceFormats } from './service-formats';

/**
 * Asks what an app's service converts. The embedded one is known without asking it; any other one is asked, which also shows that it is
 * there and knows us.
 *
 * @param options.signal ends the questions.
 * @param options.mayBeAway nothing is to be sent to it yet: that it can't be reached is a warning. Default: no.
 * @returns what `ask` does; undefined, with a warning, when nothing could be found out: the jobs will, for themselves.
 * @throws CommandError, of which `INTERRUPTED` when the signal aborts; whatever `ask` throws.
 */
export async function withFormats<T>(
  context: CommandContext,
  app: string,
  ask: (lookup: FormatLookup) => Promise<T>,
  { signal, mayBeAway = false }: { signal?: AbortSignal; mayBeAway?: boolean } = {},
): Promise<T | undefined> {
  if (isEmbedded(context, app)) return ask(embeddedFormats());
  const { openApi } = await import('../open-api.js');
  const { api, baseUrl } = await openApi(context, app);
  try {
    return await ask(serviceFormats(api, signal));
  } catch (error) {
    if (!(error instanceof ConversionApiError)) throw error;
    if (signal?.aborted === true) throw interrupted(error);
    const explained = explainServiceFailure(error, { app, baseUrl });
    if (explained && !(mayBeAway && explained.code === 'SERVICE_UNREACHABLE')) throw explained;
    // A busy service, one that hangs, or one without these endpoints.
    const silence = explainSilence(error, { app, baseUrl });
    context.output.warn(silence ?? `The formats could not be checked beforehand: ${(explained ?? error).message}`);
    return undefined;
  } finally {
    await api.close();
  }
}
