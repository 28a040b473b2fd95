import { createConversionApi } from '../api/client';
import type { ConversionApi } from '../api/conversion-api';
import { embeddedApp, readAppToken } from '../config';
import type { AppProfile as PluginAppProfile } from '../plugin';
import { ensureEmbeddedApp } from '../service/embedded-app';
import type { CommandContext } from './command-context';
import { CommandError } from './command-error';

/** Every app profile of the configuration; a token is read when the first job of its app needs it. */
export function configuredApps({ config, env, output }: CommandContext): Record<string, PluginAppProfile> {
  const profiles = Object.values(config.values.apps).map((app): [string, PluginAppProfile] => [
    app.name,
    {
      baseUrl: app.baseUrl,
      appId: app.appId,
      token: async () => (await readAppToken(app, env, (message) => output.warn(message))).reveal(),
    },
  ]);
  return Object.fromEntries(profiles);
}

/** Whether the app is the embedded service's own, without an entry in the configuration that says otherwise. */
export function isEmbedded({ config }: CommandContext, app: string): boolean {
  return app === embeddedApp && !Object.hasOwn(config.values.apps, app);
}

/** The profile of the embedded service, which needs no entry in the configuration. */
export async function embeddedProfile(context: CommandContext, serviceUrl: string): Promise<PluginAppProfile> {
  const { appId, tokenFile } = await ensureEmbeddedApp(context.config.values.service.dataDir);
  const app = { name: embeddedApp, token: { from: 'file' as const, file: tokenFile } };
  return { baseUrl: serviceUrl, appId, token: async () => (await readAppToken(app, context.env)).reveal() };
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

/** Where the embedded service is when no stack says otherwise. */
export function configuredServiceUrl({ config }: CommandContext): string {
  const { host, port } = config.values.service;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
