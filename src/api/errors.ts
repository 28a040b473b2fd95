import type { Endpoint } from '../contract/endpoints';

/** Codes of our own, for failures that the document has no code for. Besides these: `HTTP_<status>`. */
export const clientErrorCodes = [
  /** No connection could be made: refused, unknown host, TLS, connect time-out. Nothing was sent. */
  'SERVICE_UNREACHABLE',
  /** The connection broke before the answer was complete. */
  'CONNECTION_LOST',
  /** No answer, no next chunk, or no upload progress in time. */
  'REQUEST_TIMEOUT',
  /** An answer that is not of the document's shape. */
  'UNREADABLE_RESPONSE',
  /** The caller's signal was aborted; `cause` is its reason. */
  'REQUEST_ABORTED',
  /** Its turn at the rate limit is too far away to wait for here; nothing was sent. `retryAfterSeconds` says when to come back. */
  'RATE_LIMIT_WAIT',
  /** The file's size changed while it was being sent. */
  'FILE_CHANGED',
  /** The request could not be built, for example because of a token that no header can carry. */
  'INVALID_REQUEST',
] as const;
export type ClientErrorCode = (typeof clientErrorCodes)[number];

export function isClientErrorCode(code: string): code is ClientErrorCode {
  return clientErrorCodes.some((each) => each === code);
}

interface ConversionApiErrorFields {
  code: string;
  message: string;
  endpoint: Endpoint;
  mayHaveExecuted: boolean;
  taskId?: string | undefined;
  httpStatus?: number | undefined;
  retryAfterSeconds?: number | undefined;
  cause?: unknown;
}

/** A request that did not succeed. Its message and fields never hold the token. */
export class ConversionApiError extends Error {
  override readonly name = 'ConversionApiError';
  /** The document's code verbatim, one of `ClientErrorCode`, or `HTTP_<status>`. */
  readonly code: string;
  readonly httpStatus: number | undefined;
  readonly endpoint: Endpoint;
  /** False only when it is certain that sending the same request again repeats nothing. */
  readonly mayHaveExecuted: boolean;
  /** The task that the answer names, if by its own words that runs, or was charged: asking about it tells what came of the request. */
  readonly taskId: string | undefined;
  /** RETRY-AFTER of a 429, to be waited for in full; or when to come back for a turn at the rate limit. */
  readonly retryAfterSeconds: number | undefined;

  constructor(fields: ConversionApiErrorFields) {
    super(fields.message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.code = fields.code;
    this.httpStatus = fields.httpStatus;
    this.endpoint = fields.endpoint;
    this.mayHaveExecuted = fields.mayHaveExecuted;
    this.taskId = fields.taskId;
    this.retryAfterSeconds = fields.retryAfterSeconds;
  }
}
