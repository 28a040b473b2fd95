import type { ApiTimeouts, ConversionApi } from './conversion-api';

export interface ConversionApiOptions {
  /** For example `https://api.vertopal.com`; may carry a path prefix. */
  baseUrl: string;
  appId: string;
  /** The app token, or a function that reads it anew for each request. It is sent to the base URL's origin only. */
  token: string | (() => string);
  timeouts?: Partial<ApiTimeouts> | undefined;
}

/** A client for one app profile, with its own pool of kept-alive connections. Close it when done. */
export function createConversionApi(options: ConversionApiOptions): ConversionApi {
  throw new Error(`Not written yet (${options.baseUrl}).`);
}
