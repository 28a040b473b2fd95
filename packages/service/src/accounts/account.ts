import { hash } from 'node:crypto';
import { createPriceList, type PriceList } from './vcredits';

export const plans = ['free', 'premium'] as const;
export type Plan = (typeof plans)[number];

/** The endpoints that share a limit; section "Limits": some, such as uploads, have a stricter one. */
export const rateClasses = ['upload', 'submit', 'poll', 'download', 'info'] as const;
export type RateClass = (typeof rateClasses)[number];

export type RateLimits = Readonly<Record<RateClass, number>> & { readonly windowSeconds: number };

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
const uploadLifetimeMs = 24 * 60 * 60 * 1000;
export const downloadLifetimeMs = 24 * 60 * 60 * 1000;

/** What the service knows about an app; `docs/service/accounts.md` explains each setting. */
export interface AccountSettings {
  readonly plan: Plan;
  /** The balance with which the app begins, kept in the database from then on; undefined: unlimited. */
  readonly initialVcredits: number | undefined;
  readonly prices: PriceList;
  /** SHA-256 of the files that may be used; undefined: the app is not in development. */
  readonly registeredHashes: ReadonlySet<string> | undefined;
  readonly callbackDomains: readonly string[];
  /** Hosts among them that may have private addresses. */
  readonly privateCallbackHosts: readonly string[];
  /** Undefined: the service's own limit. */
  readonly maxUploadBytes: number | undefined;
  /** Undefined: every extension that an engine reads. */
  readonly allowedExtensions: ReadonlySet<string> | undefined;
  readonly uploadLifetimeMs: number;
  readonly downloadLifetimeMs: number;
  readonly rateLimits: RateLimits;
}

/** An app with all its settings. */
export interface Account extends AccountSettings {
  readonly name: string;
  readonly appId: string;
  readonly tokenSha256: readonly string[];
  /** Set for the free app only. */
  readonly freeApp?: FreeAppLimits;
}

export interface FreeAppLimits {
  /** Conversions a day (UTC). */
  readonly dailyConversions: number;
  /** Task paths that answer DISABLED_FOR_FREE_APP. */
  readonly disabledEndpoints: ReadonlySet<string>;
}

/** Settings as an operator gives them; the defaults let everything through. */
export interface AccountOptions {
  plan?: Plan | undefined;
  vcredits?: number | undefined;
  prices?: Readonly<Record<string, number>> | undefined;
  registeredHashes?: readonly string[] | undefined;
  callbackDomains?: readonly string[] | undefined;
  privateCallbackHosts?: readonly string[] | undefined;
  maxUploadBytes?: number | undefined;
  allowedExtensions?: readonly string[] | undefined;
  uploadLifetimeSeconds?: number | undefined;
  downloadLifetimeSeconds?: number | undefined;
  rateLimits?: Partial<RateLimits> | undefined;
}

/** An app that may use the service. The service knows the hashes of its tokens only. */
export interface ServiceApp extends AccountOptions {
  name: string;
  appId: string;
  /** SHA-256 of the app token, in hex; several while a token is being replaced. */
  tokenSha256: string | readonly string[];
}

export function createAccount({ name, appId, tokenSha256, ...options }: ServiceApp): Account {
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
    uploadLifetimeMs: secondsOr(options.uploadLifetimeSeconds, uploadLifetimeMs),
    downloadLifetimeMs: secondsOr(options.downloadLifetimeSeconds, downloadLifetimeMs),
    rateLimits: { ...defaultRateLimits, ...options.rateLimits },
  };
}

export function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}

function lowerCaseSet(values: readonly string[]): ReadonlySet<string> {
  return new Set(values.map((value) => value.toLowerCase()));
}

function secondsOr(seconds: number | undefined, defaultMs: number): number {
  return seconds === undefined ? defaultMs : seconds * 1000;
}
