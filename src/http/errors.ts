import type { Endpoint } from '../contract/endpoints';

/** Our own codes, for failures that the document has no code for, besides `HTTP_<status>`. */
export const clientErrorCodes = [
  /** No connection could be made: refused, unknown host, TLS, connect timeout. Nothing was sent. */
  'SERVICE_UNREACHABLE',
  /** The connection broke before the response was complete. */
  'CONNECTION_LOST',
  /** No response, no next chunk, or no upload progress in time. */
  'REQUEST_TIMEOUT',
  /** A response that does not have the document's shape. */
  'UNREADABLE_RESPONSE',
  /** The caller's signal was aborted, or the client was closed; `cause` is the reason. */
  'REQUEST_ABORTED',
  /** Its turn at the rate limit is too far away; nothing was sent. `retryAfterSeconds` says when to try again. */
  'RATE_LIMIT_WAIT',
  /** The file's size changed while it was being sent. */
  'FILE_CHANGED',
  /** The request could not be built, for example because no HTTP header can carry the token. */
  'INVALID_REQUEST',
] as const;
export type ClientErrorCode = (typeof clientErrorCodes)[number];

export function isClientErrorCode(code: string): code is ClientErrorCode {
  return clientErrorCodes.some((each) => each === code);
}

type ConversionApiErrorFields = Pick<ConversionApiError, 'code' | 'message' | 'endpoint' | 'mayHaveExecuted'> &
  Partial<Pick<ConversionApiError, 'taskId' | 'httpStatus' | 'retryAfterSeconds' | 'mayHaveOtherToken' | 'cause'>>;

/** A request that failed. Its message and fields never hold the token. */
export class ConversionApiError extends Error {
  override readonly name = 'ConversionApiError';
  /** The document's code verbatim, a `ClientErrorCode`, or `HTTP_<status>`. */
  readonly code: string;
  readonly httpStatus: number | undefined;
  readonly endpoint: Endpoint;
  /** False only if sending the same request again certainly executes nothing twice. */
  readonly mayHaveExecuted: boolean;
  /** The task in the response, if it is not over, was charged or succeeded: poll it to learn the outcome. */
  readonly taskId: string | undefined;
  /**
   * How long to wait before the next attempt, in full: RETRY-AFTER, the wait that a FREE_APP_LIMITED
   * message gives, or the time until the next turn at the rate limit.
   */
  readonly retryAfterSeconds: number | undefined;
  /** Asks the source of a refused token again; resolves to whether a later request may send another one. */
  readonly mayHaveOtherToken: (() => Promise<boolean>) | undefined;

  constructor({ message, cause, ...fields }: ConversionApiErrorFields) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = fields.code;
    this.httpStatus = fields.httpStatus;
    this.endpoint = fields.endpoint;
    this.mayHaveExecuted = fields.mayHaveExecuted;
    this.taskId = fields.taskId;
    this.retryAfterSeconds = fields.retryAfterSeconds;
    this.mayHaveOtherToken = fields.mayHaveOtherToken;
  }
}

/** An answer that cannot be used, whatever its status says. Default: the request may have been executed. */
export function unreadableAnswer(
  endpoint: Endpoint,
  problem: string,
  fields: { httpStatus?: number; mayHaveExecuted?: false; cause?: unknown } = {},
): ConversionApiError {
  const message = `${endpoint}: ${problem}`;
  return new ConversionApiError({ code: 'UNREADABLE_RESPONSE', message, endpoint, mayHaveExecuted: true, ...fields });
}
