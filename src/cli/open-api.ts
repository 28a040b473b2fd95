import { createConversionApi } from '../api/client';
import type { ConversionApi } from '../api/conversion-api';
import { embeddedApp } from '../config';
import { configuredApps, configuredServiceUrl, embeddedProfile, isEmbedded } from './app-profiles';
import type { CommandContext } from './command-context';
import { CommandError } from './command-error';

/** Where an app's service is, and what it is asked with. */
export interface ServiceProfile {
  baseUrl: string;
  appId: string;
  token: string;
}

/**
 * The profile of an app, with its token.
 * @throws CommandError for an app that nobody configured, ConfigError when its token can't be read.
 */
export async function readProfile(
  context: CommandContext,
  app: string,
  embeddedUrl = configuredServiceUrl(context),
): Promise<ServiceProfile> {
  const apps = configuredApps(context);
  const configured = Object.hasOwn(apps, app) ? apps[app] : undefined;
  const profile = configured ?? (isEmbedded(context, app) ? await embeddedProfile(context, embeddedUrl) : undefined);
  if (!profile) {
    const known = [...new Set([embeddedApp, ...Object.keys(apps)])].join(', ');
    throw new CommandError('UNKNOWN_APP', [
      `There is no app profile called "${app}"; there are: ${known}. See: fileconv config show`,
    ]);
  }
  const { baseUrl, appId, token } = profile;
  return { baseUrl, appId, token: typeof token === 'function' ? await token() : token };
}

/**
 * A connection to an app's service, for the few questions of a command. The caller closes it.
 * @throws CommandError for an app that nobody configured, ConfigError when its token can't be read.
 */
export async function openApi(
  context: CommandContext,
  app: string,
  embeddedUrl = configuredServiceUrl(context),
): Promise<{ api: ConversionApi; baseUrl: string }> {
  const profile = await readProfile(context, app, embeddedUrl);
  const { connectSeconds, headersSeconds } = context.config.values.timeouts;
  const timeouts = { connectMs: connectSeconds * 1_000, headersMs: headersSeconds * 1_000 };
  return { api: createConversionApi({ ...profile, timeouts }), baseUrl: profile.baseUrl };
}
