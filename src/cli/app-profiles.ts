import { embeddedApp, readAppToken } from '../config';
import type { AppProfile as PluginAppProfile } from '../plugin';
import { ensureEmbeddedApp } from '../service/embedded-app';
import type { CommandContext } from './command-context';
import { usageError } from './exit';

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

/** The profile that a command talks to the service with; the embedded one needs no entry in the configuration. */
export async function appProfile(context: CommandContext, name: string, serviceUrl: string): Promise<PluginAppProfile> {
  const configured = configuredApps(context)[name];
  if (configured) return configured;
  const { values } = context.config;
  if (name !== embeddedApp) {
    const known = [embeddedApp, ...Object.keys(values.apps)].join(', ');
    throw usageError(`There is no app profile called "${name}"; there are: ${known}. See \`fileconv config show\`.`);
  }
  const { appId, tokenFile } = await ensureEmbeddedApp(values.service.dataDir);
  const app = { name, token: { from: 'file' as const, file: tokenFile } };
  return {
    baseUrl: serviceUrl,
    appId,
    token: async () => (await readAppToken(app, context.env)).reveal(),
  };
}

/** Where the embedded service is when no stack says otherwise. */
export function configuredServiceUrl({ config }: CommandContext): string {
  const { host, port } = config.values.service;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
