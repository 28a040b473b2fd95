import { createConversionApi } from 'temporal-file-conversion/internal/http/client';
import type { ConversionApi } from 'temporal-file-conversion/internal/http/conversion-api';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import { embeddedApp } from '../config/schema';
import { configuredApps, embeddedProfile, isEmbedded, type CheckedProfile } from './app-profiles';
import { embeddedServiceUrl } from './embedded-service';

/** A service that is suspended accepts connections and never answers; no person waits longer than this. */
const answerWithinMs = 10_000;

export interface ServiceProfile {
  baseUrl: string;
  appId: string;
  token: string;
}

/**
 * The profile of an app, with its token.
 * @throws CommandError for an app that nobody configured, ConfigError when its token can't be read.
 */
export async function readProfile(context: CommandContext, app: string): Promise<ServiceProfile> {
  const apps = configuredApps(context);
  const configured = Object.hasOwn(apps, app) ? apps[app] : undefined;
  const profile = configured ?? (isEmbedded(context, app) ? await runningEmbedded(context) : undefined);
  if (!profile) {
    const known = [...new Set([embeddedApp, ...Object.keys(apps)])].join(', ');
    throw new CommandError('UNKNOWN_APP', [
      `There is no app profile called "${app}"; there are: ${known}. See: fileconv config show`,
    ]);
  }
  const { baseUrl, appId, token } = profile;
  return { baseUrl, appId, token: await token() };
}

/**
 * A connection to an app's service, for the few questions of a command. The caller closes it.
 * @throws CommandError for an app that nobody configured, ConfigError when its token can't be read.
 */
export async function openApi(context: CommandContext, app: string): Promise<{ api: ConversionApi; baseUrl: string }> {
  const profile = await readProfile(context, app);
  const { connectSeconds, headersSeconds } = context.config.values.timeouts;
  const headersMs = Math.min(headersSeconds * 1_000, answerWithinMs);
  const timeouts = { connectMs: connectSeconds * 1_000, headersMs, bodyMs: answerWithinMs };
  return { api: createConversionApi({ ...profile, timeouts }), baseUrl: profile.baseUrl };
}

/**
 * The profile of the embedded service that runs.
 * @throws CommandError `SERVICE_UNREACHABLE` when there is none.
 */
export async function runningEmbedded(context: CommandContext): Promise<CheckedProfile> {
  const url = await embeddedServiceUrl(context);
  if (url !== undefined) return embeddedProfile(context, url);
  const { dataDir } = context.config.values.service;
  throw new CommandError('SERVICE_UNREACHABLE', [
    `No conversion service runs on ${dataDir}. Start it (fileconv up, or fileconv service), or say where it is (FILECONV_SERVICE_PORT).`,
  ]);
}
