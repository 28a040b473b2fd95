import { hash } from 'node:crypto';
import { createPriceList } from './vcredits';

export const plans = ['free', 'premium'] as const;
export type Plan = (typeof plans)[number];

/** The endpoints that share a limit; section "Limits": some, such as uploads, have a stricter one. */
export const rateClasses = ['upload', 'submit', 'poll', 'download', 'info'] as const;
export type RateClass = (typeof rateClasses)[number];

type RateLimits = Readonly<Record<RateClass, number>> & { readonly windowSeconds: number };

/** Far above what one machine reaches, so that only an operator who asks for limits meets them. */
const defaultRateLimits: RateLimits = {
  windowSeconds: 60,
  upload: 100_000,
  submit: 1_000_000,
  poll: 1_000_000,
  download: 1_000_000,
  info: 1_000_000,
};

/** The one App ID that is no UUID: that of the free app. */
export const freeAppId = 'free';

/** How long files are kept: a job may park for days while it waits for credits, and then it uploads again. */
export const fileLifetimeSeconds = 24 * 60 * 60;

/** An app with all its settings; `docs/service/accounts.md` explains each. */
export type Account = Readonly<ReturnType<typeof createAccount>> & {
  /** Of the free app only: conversions a day (UTC), and the task paths that answer DISABLED_FOR_FREE_APP. */
  readonly freeApp?: { readonly dailyConversions: number; readonly disabledEndpoints: ReadonlySet<string> };
};

/** An app that may use the service, as an operator describes it; the defaults let everything through. */
export interface ServiceApp {
  name: string;
  appId: string;
  /** SHA-256 of the app token, in hex; several while a token is being replaced. The service knows no more of tokens. */
  tokenSha256: string | readonly string[];
  plan?: Plan | undefined;
  /** The balance with which the app begins, kept in the database from then on. Default: unlimited. */
  vcredits?: number | undefined;
  prices?: Readonly<Record<string, number>> | undefined;
  /** SHA-256 of the files that may be used. Default: the app is not in development. */
  registeredHashes?: readonly string[] | undefined;
  callbackDomains?: readonly string[] | undefined;
  /** Hosts among them that may have private addresses. */
  privateCallbackHosts?: readonly string[] | undefined;
  /** Default: the service's own limit. */
  maxUploadBytes?: number | undefined;
  /** Default: every extension that an engine reads. */
  allowedExtensions?: readonly string[] | undefined;
  uploadLifetimeSeconds?: number | undefined;
  downloadLifetimeSeconds?: number | undefined;
  rateLimits?: Partial<RateLimits> | undefined;
}

export function createAccount({ name, appId, tokenSha256, ...options }: ServiceApp) {
  return {
    name,
    appId,
    tokenSha256: [tokenSha256].flat().map((hash) => hash.toLowerCase()),
    plan: options.plan ?? 'premium',
    initialVcredits: options.vcredits,
    prices: createPriceList(options.prices),
    registeredHashes: options.registeredHashes && lowerCaseSet(options.registeredHashes),
    callbackDomains: options.callbackDomains ?? [],
    privateCallbackHosts: options.privateCallbackHosts ?? [],
    maxUploadBytes: options.maxUploadBytes,
    allowedExtensions: options.allowedExtensions && lowerCaseSet(options.allowedExtensions),
    uploadLifetimeMs: (options.uploadLifetimeSeconds ?? fileLifetimeSeconds) * 1000,
    downloadLifetimeMs: (options.downloadLifetimeSeconds ?? fileLifetimeSeconds) * 1000,
    rateLimits: { ...defaultRateLimits, ...options.rateLimits },
  };
}

export function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}

function lowerCaseSet(values: readonly string[]): ReadonlySet<string> {
  return new Set(values.map((value) => value.toLowerCase()));
}
