import { ensureEmbeddedApp } from 'temporal-file-conversion-service/administration';
import { lookUpErrorCode } from 'temporal-file-conversion/contract';
import type { ConversionApi, ConversionApiError } from 'temporal-file-conversion/http';
import type { AppProfile as PluginAppProfile } from 'temporal-file-conversion/worker';
import { makeStateFolders } from '../allowed';
import type { CommandContext } from '../command-context';
import { CommandError, explainStateFolder } from '../command-error';
import { type ConfiguredApp, readAppToken } from '../config/app-token';
import { embeddedApp } from '../config/schema';
import { embeddedServiceUrl } from './embedded-service';

/** The token is read on demand, and masked in this process's logs from then on. */
export type CheckedProfile = PluginAppProfile & { token: () => Promise<string> };

export function configuredApps(
  context: CommandContext,
  onWarning = (message: string) => context.output.warn(message),
): Record<string, CheckedProfile> {
  const profiles = Object.values(context.config.values.apps).map((app) => {
    return [app.name, profileOf(context, app, onWarning)] as const;
  });
  return Object.fromEntries(profiles);
}

/** Whether the app is the embedded service's own, not overridden in the configuration. */
export function isEmbedded({ config }: CommandContext, app: string): boolean {
  return app === embeddedApp && !Object.hasOwn(config.values.apps, app);
}

export async function embeddedProfile(context: CommandContext, baseUrl: string): Promise<CheckedProfile> {
  const { service, state } = context.config.values;
  await makeStateFolders(context);
  const { appId, tokenFile } = await ensureEmbeddedApp(service.dataDir).catch((error: unknown) => {
    throw explainStateFolder(state.dir, error);
  });
  const app = { name: embeddedApp, baseUrl, appId, token: { from: 'file' as const, file: tokenFile } };
  return profileOf(context, app);
}

function profileOf(
  { config, env, secrets }: CommandContext,
  app: ConfiguredApp,
  onWarning?: (message: string) => void,
): CheckedProfile {
  const { name, baseUrl, appId, token } = app;
  const { embeddedBaseUrl } = config.values.callbacks;
  return {
    baseUrl,
    appId,
    async token() {
      const text = await readAppToken(app, env, onWarning);
      secrets.hide(text);
      return text;
    },
    ...(token.from === 'file' && { tokenFile: token.file }),
    ...(name === embeddedApp && embeddedBaseUrl !== undefined && { callbackBaseUrl: embeddedBaseUrl }),
  };
}

/** A suspended service accepts connections but never answers; no person should wait longer than this. */
const answerWithinMs = 10_000;

export interface ServiceProfile {
  baseUrl: string;
  appId: string;
  token: string;
}

/** @throws CommandError `UNKNOWN_APP` if no profile has this name. */
export function requireKnown({ config }: Pick<CommandContext, 'config'>, app: string): void {
  const known = [...new Set([embeddedApp, ...Object.keys(config.values.apps)])];
  if (known.includes(app)) return;
  const problem = `There is no app profile called "${app}"; there are: ${known.join(', ')}. See: fileconv config show`;
  throw new CommandError('UNKNOWN_APP', [problem]);
}

/**
 * The profile of an app, with its token.
 * @throws CommandError if the app is not configured or its token can't be read.
 */
export async function readProfile(context: CommandContext, app: string): Promise<ServiceProfile> {
  const apps = configuredApps(context);
  const configured = Object.hasOwn(apps, app) ? apps[app] : undefined;
  requireKnown(context, app);
  const profile = configured ?? (await runningEmbedded(context));
  const { baseUrl, appId, token } = profile;
  return { baseUrl, appId, token: await token() };
}

/** A connection to an app's service for a command's few questions. The caller closes it. */
export async function openApi(context: CommandContext, app: string): Promise<{ api: ConversionApi; baseUrl: string }> {
  const profile = await readProfile(context, app);
  const { connectSeconds, headersSeconds } = context.config.values.timeouts;
  const headersMs = Math.min(headersSeconds * 1_000, answerWithinMs);
  const timeouts = { connectMs: connectSeconds * 1_000, headersMs, bodyMs: answerWithinMs };
  // Lazy: the embedded service's tables are read without a request.
  const { createConversionApi } = await import('temporal-file-conversion/http');
  return { api: createConversionApi({ ...profile, timeouts }), baseUrl: profile.baseUrl };
}

/** @throws CommandError `SERVICE_UNREACHABLE` if none runs. */
async function runningEmbedded(context: CommandContext): Promise<CheckedProfile> {
  const url = await embeddedServiceUrl(context);
  if (url !== undefined) return embeddedProfile(context, url);
  const { dataDir } = context.config.values.service;
  throw new CommandError('SERVICE_UNREACHABLE', [
    `No conversion service runs on ${dataDir}. Start it (fileconv up, or fileconv service), or say where it is (FILECONV_SERVICE_PORT).`,
  ]);
}

/** What a person can do about a failed request; undefined for failures that may pass, such as a busy service or a timeout. */
export function explainServiceFailure(
  error: ConversionApiError,
  { app, baseUrl }: { app: string; baseUrl: string },
): CommandError | undefined {
  const failed = (code: 'SERVICE_UNREACHABLE' | 'SERVICE_UNUSABLE' | 'ACCOUNT_REFUSED', problem: string) =>
    new CommandError(code, [problem], { cause: error });
  const { code, message } = error;
  if (code === 'SERVICE_UNREACHABLE') {
    return failed(
      'SERVICE_UNREACHABLE',
      `The conversion service of app ${app} can't be reached at ${baseUrl}. Start it (\`fileconv up\` runs the embedded one), or correct the app's base_url (\`fileconv config show\`).`,
    );
  }
  if (code === 'UNREADABLE_RESPONSE' || isPageNotThere(error)) {
    const next = `Is ${baseUrl} a conversion service? Check base_url of app ${app} (\`fileconv config show\`).`;
    return failed('SERVICE_UNUSABLE', `${message} ${next}`);
  }
  if (lookUpErrorCode(code)?.class === 'account') {
    return failed(
      'ACCOUNT_REFUSED',
      `${message} Check the account, the App ID and the token of app ${app} (\`fileconv config show\`).`,
    );
  }
  return undefined;
}

/** A web server that is no conversion service answers with a bare status, without an API error. */
function isPageNotThere({ code, httpStatus = 0 }: ConversionApiError): boolean {
  return code === `HTTP_${httpStatus}` && httpStatus >= 400 && httpStatus < 500 && ![408, 429].includes(httpStatus);
}
