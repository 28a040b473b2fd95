import { ensureEmbeddedApp } from 'temporal-file-conversion-service/internal/accounts/embedded-app';
import type { AppProfile as PluginAppProfile } from 'temporal-file-conversion/internal/plugin';
import { requireAppAllowed, requireServiceAllowed } from '../allowed-origins';
import type { CommandContext } from '../command-context';
import { explainStateFolder } from '../command-error';
import { readAppToken, type AppProfile } from '../config/app-token';
import { embeddedApp } from '../config/schema';

/** Its token is read when it is needed, and hidden in this process's logs from then on. */
export type CheckedProfile = PluginAppProfile & { token: () => Promise<string> };

/** Every app profile of the configuration. */
export function configuredApps(
  context: CommandContext,
  onWarning = (message: string) => context.output.warn(message),
): Record<string, CheckedProfile> {
  const { config } = context;
  const profiles = Object.values(config.values.apps).map((app): [string, CheckedProfile] => [
    app.name,
    {
      baseUrl: app.baseUrl,
      appId: app.appId,
      token: async () => {
        await requireAppAllowed(context, app);
        return readToken(context, app, onWarning);
      },
      ...(app.token.from === 'file' && { tokenFile: app.token.file }),
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

export async function embeddedProfile(context: CommandContext, serviceUrl: string): Promise<CheckedProfile> {
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
    tokenFile,
    ...(embeddedBaseUrl !== undefined && { callbackBaseUrl: embeddedBaseUrl }),
  };
}

async function readToken(
  { env, secrets }: CommandContext,
  app: Pick<AppProfile, 'name' | 'token'>,
  onWarning?: (message: string) => void,
): Promise<string> {
  const token = await readAppToken(app, env, onWarning);
  secrets.hide(token);
  return token;
}
