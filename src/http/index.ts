/** A client of one conversion service, without Temporal: one request per call, rate limits obeyed, no retries. */
import type * as Client from './client';
import type { ConversionApi, ConversionApiOptions } from './conversion-api';

export type * from './conversion-api';
export { ConversionApiError } from './errors';
export type { ClientErrorCode } from './errors';
export { answerAboutPair, isUnknownFormat } from './pair-answer';

/** A client for one app, with its own pool of keep-alive connections. Call `close` when done. */
export function createConversionApi(options: ConversionApiOptions): ConversionApi {
  const { openConversionApi: create } = require('./client') as typeof Client;
  return create(options);
}
