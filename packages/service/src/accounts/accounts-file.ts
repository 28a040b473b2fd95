import { randomUUID } from 'node:crypto';
import { appendFile } from 'node:fs/promises';
import path from 'node:path';
import { type EndpointClass, endpointClasses } from 'temporal-file-conversion/contract';
import { makeFolder, readIfExists } from 'temporal-file-conversion/storage';
import { z } from 'zod';
import { documentVersion, taskPaths } from '../shared/api-version';
import { messageOf } from '../shared/caught';
import { checkToml, SettingsFileError } from '../shared/checked-toml';
import { createPriceList, hashToken, newToken, type Plan, plans, type ServiceApp } from './account';
import { embeddedAppName } from './embedded-app';

/** The accounts of the service in a TOML file; `docs/service/accounts.md` describes it. */

export type AccountsFile = ReturnType<typeof parseAccountsFile>;

/** @throws SettingsFileError with one line: the file, the first key that is wrong, and what it must be. */
export function parseAccountsFile(text: string, file: string) {
  const values = checkToml(text, { file, schema: accountsSchema });
  const { [embeddedAppName]: embedded, ...others } = values.apps;
  const set = (['app_id', 'token_sha256'] as const).find((key) => embedded?.[key] !== undefined);
  if (set) {
    throw new SettingsFileError(
      `${file}: apps.${embeddedAppName}.${set}: the service sets this itself; remove the key`,
    );
  }
  const apps = Object.entries(others).map(([name, app]) => toServiceApp(name, app, values, file));
  return {
    apps,
    /** Settings of the app that the service creates itself. */
    embedded: settingsOf(embedded ?? appSchema.parse({}), values),
    anonymous: { windowSeconds: values.anonymous.window_seconds, requests: values.anonymous.requests },
    freeApp: values.free_app.enabled
      ? {
          dailyConversions: values.free_app.daily_conversions,
          disabledEndpoints: new Set<string>(values.free_app.disabled_endpoints),
        }
      : undefined,
    extraApiVersions: values.extra_api_versions,
  };
}

function toServiceApp(name: string, app: AppValues, file: FileValues, fileName: string): ServiceApp {
  const { app_id: appId, token_sha256: tokenSha256 } = app;
  if (appId === undefined || tokenSha256 === undefined) {
    const key = appId === undefined ? 'app_id' : 'token_sha256';
    throw new SettingsFileError(`${fileName}: apps.${name}.${key}: is missing; fileconv service apps add makes both`);
  }
  return { name, appId: appId.toLowerCase(), tokenSha256, ...settingsOf(app, file) };
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
    // TOML has no undefined values, so the cast is safe.
    rateLimits: {
      ...(classes as Record<EndpointClass, number>),
      ...(windowSeconds !== undefined && { windowSeconds }),
    },
  };
}

/** The keys of an accounts file; each message completes `apps.NAME.key: `. */

const count = z.int('must be a whole number, 0 or more').min(0, 'must be 0 or more');
const positive = z.int('must be a whole number, 1 or more').min(1, 'must be 1 or more');
const seconds = z.number('must be a number of seconds').positive('must be more than 0');
const sha256 = z.string().regex(/^[0-9a-f]{64}$/i, 'must be a SHA-256 in 64 hexadecimal digits');
const hashes = z.array(sha256);
const domain = z
  .string()
  .toLowerCase()
  .regex(
    /^((\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])$/,
    'must be a domain such as "example.com", without scheme or port',
  );
const extension = z.string().regex(/^[^.\s]+$/, 'must be an extension such as "docx", without a dot');

const prices = z.record(z.string(), count).superRefine((value, context) => {
  for (const pair of Object.keys(value)) {
    try {
      createPriceList({ [pair]: 0 });
    } catch (error) {
      context.addIssue({ code: 'custom', message: messageOf(error), path: [pair] });
    }
  }
});

const ofEachClass = Object.fromEntries(endpointClasses.map((rateClass) => [rateClass, positive.optional()]));
const rateLimits = z.strictObject({
  window_seconds: positive.optional(),
  ...(ofEachClass as Record<EndpointClass, z.ZodOptional<typeof positive>>),
});

export const appSchema = z.strictObject({
  app_id: z.guid('must be a UUID').optional(),
  token_sha256: z.union([sha256.transform((hash) => [hash]), hashes.min(1, 'must hold at least one hash')]).optional(),
  plan: z.enum(plans, `must be ${plans.map((plan) => `"${plan}"`).join(' or ')}`).optional(),
  vcredits: count.optional(),
  prices: prices.optional(),
  development: z.strictObject({ enabled: z.boolean().default(true), sha256: hashes.default([]) }).optional(),
  callback_domains: z.array(domain).optional(),
  private_callback_hosts: z.array(domain).optional(),
  limits: z
    .strictObject({
      max_upload_bytes: positive.optional(),
      allowed_extensions: z.array(extension).optional(),
      upload_lifetime_seconds: seconds.optional(),
      download_lifetime_seconds: seconds.optional(),
    })
    .prefault({}),
  rate_limits: rateLimits.prefault({}),
});

export const accountsSchema = z.strictObject({
  /** Defaults for every app. */
  rate_limits: rateLimits.prefault({}),
  /** Requests without a valid token, by address. */
  anonymous: z.strictObject({ window_seconds: positive.default(60), requests: positive.default(100_000) }).prefault({}),
  free_app: z
    .strictObject({
      enabled: z.boolean().default(false),
      daily_conversions: count.default(10),
      disabled_endpoints: z.array(z.enum(taskPaths, `must be some of ${taskPaths.join(', ')}`)).default([]),
    })
    .prefault({}),
  /** Versions of the API besides v1, with the same endpoints, to rehearse a change of version. */
  extra_api_versions: z
    .array(z.string().regex(/^v\d+$/, 'must be a version such as "v2"'))
    .refine(
      (versions) => !versions.includes(documentVersion),
      `must not hold "${documentVersion}": it is always served`,
    )
    .default([]),
  apps: z
    .record(z.string().regex(/^[a-z0-9][a-z0-9_-]*$/i, 'must hold letters, digits, "-" and "_" only'), appSchema)
    .default({}),
});

type AppValues = z.output<typeof appSchema>;
type FileValues = z.output<typeof accountsSchema>;

/**
 * Adds an app at the end of the file. Its token is returned only here: the file holds its hash.
 * @throws SettingsFileError if the name is taken.
 */
export async function addApp(
  file: string,
  { name, plan, vcredits }: { name: string; plan: Plan; vcredits: number | undefined },
) {
  const token = newToken();
  const appId = randomUUID();
  await makeFolder(path.dirname(file), 0o700);
  const text = (await readIfExists(file)) ?? '';
  if (name === embeddedAppName || parseAccountsFile(text, file).apps.some((app) => app.name === name)) {
    throw new SettingsFileError(`There is an app "${name}" already; see: fileconv service apps list`);
  }
  const lines = [
    `[apps.${name}]`,
    `app_id = "${appId}"`,
    `token_sha256 = ["${hashToken(token)}"]`,
    `plan = "${plan}"`,
    ...(vcredits === undefined ? [] : [`vcredits = ${vcredits}`]),
  ];
  // One append, so that concurrent commands lose no app.
  await appendFile(file, `${text === '' ? '' : '\n'}${lines.join('\n')}\n`, { mode: 0o600 });
  return { appId, token };
}
