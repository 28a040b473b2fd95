import { ConversionApiError } from '../../api/errors';
import { isEmbedded } from '../app-profiles';
import type { CommandContext } from '../command-context';
import { embeddedFormats } from '../formats/embedded-formats';
import { extensionFromName } from '../formats/format-lookup';
import { serviceFormats } from '../formats/service-formats';
import { explainServiceFailure } from '../service-problem';
import type { WantedFormats } from './formats-check';
import { checkFormats } from './formats-check';

/**
 * The extension of the results, once it is clear that every file converts. The embedded service is known without asking it;
 * any other one is asked, which also shows that it is there and knows us.
 */
export async function settleFormats(context: CommandContext, app: string, wanted: WantedFormats): Promise<string> {
  if (isEmbedded(context, app)) return checkFormats(embeddedFormats(), wanted);
  const { openApi } = await import('../open-api.js');
  const { api, baseUrl } = await openApi(context, app);
  try {
    return await checkFormats(serviceFormats(api), wanted);
  } catch (error) {
    if (!(error instanceof ConversionApiError)) throw error;
    const explained = explainServiceFailure(error, { app, baseUrl });
    if (explained) throw explained;
    // A busy service, or one without these endpoints: the jobs will find out for themselves.
    context.output.warn(`The formats could not be checked beforehand: ${error.message}`);
    return extensionFromName(wanted.to);
  } finally {
    await api.close();
  }
}
