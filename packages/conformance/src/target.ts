import { SecretSpellings } from 'temporal-file-conversion/messages';

/** The service that the rules are checked against. */
export interface Target extends Credentials {
  /** Without `/v1`; may carry a path prefix. */
  readonly baseUrl: string;
  readonly capabilities?: Partial<Capabilities>;
}

export interface Credentials {
  readonly appId: string;
  readonly token: string;
}

/** Accounts and settings that some rules need; without one, its rules are skipped. */
export interface Capabilities {
  secondApp: Credentials;
  freePlanApp: Credentials;
  /** An app whose balance is too small for a conversion. */
  noCreditsApp: Credentials;
  /** An app with a balance, whose conversions consume vCredits. */
  pricedApp: Credentials;
  /** An app in development, for which the hash of the sample is registered. */
  developmentApp: Credentials & {
    /** Removes the registration. */
    withdraw(): Promise<void>;
    restore(): Promise<void>;
  };
  /** An app that may send only this many `task/response` requests in a window of a few seconds. */
  rateLimitedApp: Credentials & { readonly requests: number };
  /** An app whose uploads expire after this many seconds. */
  shortUploadsApp: Credentials & { readonly seconds: number };
  /** An app whose downloads expire after this many seconds. */
  shortDownloadsApp: Credentials & { readonly seconds: number };
  /** An app whose uploads may have at most this many bytes. */
  smallUploadsApp: Credentials & { readonly maxBytes: number };
  callback: CallbackTarget;
  unverifiedCallback: { readonly url: string };
  /** Another API version of the service, for example `v2`. */
  otherVersion: { readonly segment: string };
  /** Makes uploads fail at the service until it is restored. */
  serverFailure: { provoke(): Promise<void>; restore(): Promise<void> };
  /** The free app of the service, with an endpoint that it may not use and its number of conversions per day. */
  freeApp: Credentials & { readonly disabledEndpoint: string; readonly dailyConversions: number };
}

export type Capability = keyof Capabilities;

/** Names of the capabilities, to say why a rule was skipped. */
export const capabilityNames: Readonly<Record<Capability, string>> = {
  secondApp: 'a second app',
  freePlanApp: 'an app without a premium plan',
  noCreditsApp: 'an app without vCredits',
  pricedApp: 'an app whose conversions consume vCredits',
  developmentApp: 'an app in development',
  rateLimitedApp: 'an app with a low rate limit',
  shortUploadsApp: 'an app whose uploads expire soon',
  shortDownloadsApp: 'an app whose downloads expire soon',
  smallUploadsApp: 'an app with a small upload limit',
  callback: 'a callback URL of a verified domain',
  unverifiedCallback: 'a callback URL of a domain that is not verified',
  otherVersion: 'another version of the API',
  serverFailure: 'a way to make the service fail',
  freeApp: 'the free app',
};

export interface CallbackTarget {
  /** A fresh URL, for one task. */
  createUrl(): string;
  /** The request that came to this URL; rejects if none comes in time. */
  received(url: string): Promise<{ readonly method: string; readonly body: string }>;
}

export interface SampleFile {
  readonly name: string;
  readonly bytes: Buffer;
}

/** An id that no app and no task has. */
export const noId = '00000000-0000-4000-8000-000000000000';

/** Files that any conversion service should be able to convert. */

const dot = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** Converts quickly. */
export const sample: SampleFile = { name: 'conformance.png', bytes: dot };
export const sampleInput = 'png';
export const sampleOutput = 'webp';

/** Has the extension of an image and ends in the middle of it. */
export const brokenSample: SampleFile = { name: 'conformance-broken.png', bytes: dot.subarray(0, 40) };

/** Keeps a converter busy long enough for its task to be seen running. */
export const slowSample: SampleFile = {
  name: 'conformance-slow.md',
  bytes: Buffer.from(
    'Some *emphasis*, `code`, [a link](https://example.com) and plain words after that.\n\n'.repeat(200),
  ),
};
export const slowOutput = 'docx';

/** A format in which the sample loses something: a JPEG has no transparency. */
export const lossyOutput = 'jpg';

/** A service may echo what it was sent, and printed text must not hold a secret. */
export function withoutTokens(text: string, { token, capabilities = {} }: Target): string {
  const others = Object.values(capabilities satisfies Partial<Capabilities>).flatMap((capability) =>
    'token' in capability ? [capability.token] : [],
  );
  return new SecretSpellings([token, ...others]).hide(text, '[token]');
}
