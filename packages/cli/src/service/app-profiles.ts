import { ensureEmbeddedApp } from 'temporal-file-conversion-service/internal/accounts/embedded-app';
import type { AppProfile as PluginAppProfile } from 'temporal-file-conversion/internal/plugin';
import { requireAppAllowed, requireServiceAllowed } from '../allowed-origins';
import type { CommandContext } from '../command-context';
import { explainStateFolder } from '../command-error';
import { readAppToken, type AppProfile } from '../config/app-token';
import { embeddedApp } from '../config/schema';

/** Every app profile of the configuration; a token is read when the first job of its app needs it. */
export function configuredApps(
  context: CommandContext,
  onWarning = (message: string) => context.output.warn(message),
): Record<string, PluginAppProfile> {
  const { config } = context;
  const profiles = Object.values(config.values.apps).map((app): [string, PluginAppProfile] => [
    app.name,
    {
      baseUrl: app.baseUrl,
      appId: app.appId,
      token: async () => {
        await requireAppAllowed(context, app);
        return readToken(context, app, onWarning);
      },
      ...(app.name === embeddedApp &&
        config.values.callbacks.embeddedBaseUrl !== undefined && {
          callbackBaseUrl: config.values.callbacks.embeddedBaseUrl,
        }),
    },
  ]);
  return Object.fromEntries(profiles);
}

/** Whether the app is the embedded service's own, without an entry in the configuration that says otherwise. */
export function isEmbedded({ config }: CommandContext, app: string): boolean {
  return app === embeddedApp && !Object.hasOwn(config.values.apps, app);
}

export async function embeddedProfile(context: CommandContext, serviceUrl: string): Promise<PluginAppProfile> {
  const { service, state } = context.config.values;
  const { appId, tokenFile } = await ensureEmbeddedApp(service.dataDir).catch((error: unknown) => {
    throw explainStateFolder(state.dir, error);
  });
  const app = { name: embeddedApp, token: { from: 'file' as const, file: tokenFile } };
  const { embeddedBaseUrl } = context.config.values.callbacks;
  return {
    baseUrl: serviceUrl,
    appId,
    token: async () => {
      await requireServiceAllowed(context, serviceUrl);
      return readToken(context, app);
    },
    ...(embeddedBaseUrl !== undefined && { callbackBaseUrl: embeddedBaseUrl }),
  };
}

/** Reads the token, and keeps it out of this process's logs from now on. */
async function readToken(
  { env, secrets }: CommandContext,
  app: Pick<AppProfile, 'name' | 'token'>,
  onWarning?: (message: string) => void,
): Promise<string> {
  const token = await readAppToken(app, env, onWarning);
  secrets.hide(token);
  return token;
}
