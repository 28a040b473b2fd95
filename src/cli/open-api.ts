import { createConversionApi } from '../api/client';
import type { ConversionApi } from '../api/conversion-api';
import { embeddedApp } from '../config';
import { configuredApps, configuredServiceUrl, embeddedProfile, isEmbedded } from './app-profiles';
import type { CommandContext } from './command-context';
import { CommandError } from './command-error';

/**
 * A connection to an app's service, for the few questions of a command. The caller closes it.
 * @throws CommandError for an app that nobody configured, ConfigError when its token can't be read.
 */
export async function openApi(
  context: CommandContext,
  app: string,
  embeddedUrl = configuredServiceUrl(context),
): Promise<{ api: ConversionApi; baseUrl: string }> {
  const apps = configuredApps(context);
  const configured = Object.hasOwn(apps, app) ? apps[app] : undefined;
  const profile = configured ?? (isEmbedded(context, app) ? await embeddedProfile(context, embeddedUrl) : undefined);
  if (!profile) {
    const known = [...new Set([embeddedApp, ...Object.keys(apps)])].join(', ');
    throw new CommandError('UNKNOWN_APP', [
      `There is no app profile called "${app}"; there are: ${known}. See: fileconv config show`,
    ]);
  }
  const { baseUrl, appId } = profile;
  const token = typeof profile.token === 'function' ? await profile.token() : profile.token;
  const { connectSeconds, headersSeconds } = context.config.values.timeouts;
  const timeouts = { connectMs: connectSeconds * 1_000, headersMs: headersSeconds * 1_000 };
  return { api: createConversionApi({ baseUrl, appId, token, timeouts }), baseUrl };
}
