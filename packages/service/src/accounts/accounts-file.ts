import { readFile } from 'node:fs/promises';
import { inspectError, messageOf } from '../caught';
import { checkToml } from '../checked-toml';
import { embeddedAppName } from '../embedded-app';
import type { ServiceApp } from './account';
import { appSchema, type AppValues, fileSchema, type FileValues } from './accounts-schema';

/** The accounts of the service in a TOML file; `docs/service/accounts.md` describes it. */

/** A file that cannot be used; one line that names the file and the key. */
export class AccountsFileError extends Error {
  override readonly name = 'AccountsFileError';
  readonly code = 'ACCOUNTS_FILE_INVALID';
}

export interface AccountsFile {
  readonly apps: readonly ServiceApp[];
  /** Settings of the app that the service makes itself. */
  readonly embedded: Partial<ServiceApp>;
  readonly anonymous: { readonly windowSeconds: number; readonly requests: number };
  readonly freeApp: {
    readonly enabled: boolean;
    readonly dailyConversions: number;
    readonly disabledEndpoints: readonly string[];
  };
  readonly extraApiVersions: readonly string[];
}

/** Reads and checks an accounts file; undefined when there is none. */
export async function readAccountsFile(file: string): Promise<AccountsFile | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (inspectError(error).code === 'ENOENT') return undefined;
    throw new AccountsFileError(`${file}: the accounts file cannot be read: ${messageOf(error)}`, { cause: error });
  }
  return parseAccountsFile(text, file);
}

/** @throws AccountsFileError with one line: the file, the first key that is wrong, and what it must be. */
export function parseAccountsFile(text: string, file: string): AccountsFile {
  const checked = checkToml(text, { file, schema: fileSchema });
  if ('problem' in checked) throw new AccountsFileError(checked.problem);
  const { values } = checked;
  const { [embeddedAppName]: embedded, ...others } = values.apps;
  if (embedded?.app_id !== undefined || embedded?.token_sha256 !== undefined) {
    const key = embedded.app_id === undefined ? 'token_sha256' : 'app_id';
    throw new AccountsFileError(
      `${file}: apps.${embeddedAppName}.${key}: the service sets this itself; remove the key`,
    );
  }
  const apps = Object.entries(others).map(([name, app]) => toServiceApp(name, app, values, file));
  requireUnique(apps, file);
  return {
    apps,
    embedded: settingsOf(embedded ?? appSchema.parse({}), values),
    anonymous: { windowSeconds: values.anonymous.window_seconds, requests: values.anonymous.requests },
    freeApp: {
      enabled: values.free_app.enabled,
      dailyConversions: values.free_app.daily_conversions,
      disabledEndpoints: values.free_app.disabled_endpoints,
    },
    extraApiVersions: values.extra_api_versions,
  };
}

function toServiceApp(name: string, app: AppValues, file: FileValues, fileName: string): ServiceApp {
  for (const key of ['app_id', 'token_sha256'] as const) {
    if (app[key] === undefined) {
      throw new AccountsFileError(`${fileName}: apps.${name}.${key}: is missing; fileconv service apps add makes both`);
    }
  }
  return {
    name,
    appId: app.app_id?.toLowerCase() ?? '',
    tokenSha256: app.token_sha256 ?? [],
    ...settingsOf(app, file),
  };
}

function settingsOf(app: AppValues, file: FileValues): Omit<ServiceApp, 'name' | 'appId' | 'tokenSha256'> {
  const { window_seconds: windowSeconds, ...classes } = { ...file.rate_limits, ...app.rate_limits };
  return {
    plan: app.plan,
    vcredits: app.vcredits,
    prices: app.prices,
    registeredHashes: app.development?.enabled === true ? app.development.sha256 : undefined,
    callbackDomains: app.callback_domains,
    privateCallbackHosts: app.private_callback_hosts,
    maxUploadBytes: app.limits.max_upload_bytes,
    allowedExtensions: app.limits.allowed_extensions,
    uploadLifetimeSeconds: app.limits.upload_lifetime_seconds,
    downloadLifetimeSeconds: app.limits.download_lifetime_seconds,
    rateLimits: definedOnly({ windowSeconds, ...classes }),
  };
}

function definedOnly(limits: Record<string, number | undefined>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(limits).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
}

function requireUnique(apps: readonly ServiceApp[], file: string): void {
  const holders = new Map<string, string>();
  for (const { name, appId, tokenSha256 } of apps) {
    for (const [key, value] of [['app_id', appId], ...[tokenSha256].flat().map((hash) => ['token_sha256', hash])]) {
      const id = String(value).toLowerCase();
      const holder = holders.get(id);
      if (holder !== undefined) {
        throw new AccountsFileError(
          `${file}: apps.${name}.${key ?? ''}: stands under apps.${holder} too; it must be unique`,
        );
      }
      holders.set(id, name);
    }
  }
}
