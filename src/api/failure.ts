import { errors } from 'undici';
import type { Endpoint } from '../contract/endpoints';
import { ConversionApiError, type ClientErrorCode } from './errors';

interface FailureContext {
  readonly endpoint: Endpoint;
  /** Never the whole URL: the path of a download link may hold a signature. */
  readonly origin: string;
  /** Whether the first byte may have been written. */
  readonly sent: boolean;
  /** Whether the response headers had arrived. */
  readonly answering: boolean;
  readonly aborted: boolean;
}

/** The one place that turns errors from undici and the network into the client's error. */
export function describeFailure(error: Error, context: FailureContext): ConversionApiError {
  // The source of an upload, or one of our stream readers, has already classified the failure.
  if (error instanceof ConversionApiError) return error;
  const { endpoint, origin, sent } = context;
  const { code, message } = classify(error, context);
  return new ConversionApiError({
    code,
    message: `${endpoint}: ${message} (${origin})`,
    endpoint,
    mayHaveExecuted: sent,
    // A parser error carries the bytes it could not parse, which may echo the request.
    cause: error instanceof errors.HTTPParserError ? undefined : error,
  });
}

/** The response was not complete within the caller's time limit. */
export function incomplete(exchange: {
  endpoint: Endpoint;
  origin: string;
  limitMs: number;
  sent: boolean;
}): ConversionApiError {
  const { endpoint, origin, limitMs, sent } = exchange;
  return new ConversionApiError({
    code: 'REQUEST_TIMEOUT',
    message: `${endpoint}: the answer was not complete within ${(limitMs / 1_000).toFixed(1)} s (${origin})`,
    endpoint,
    mayHaveExecuted: sent,
  });
}

function classify(
  error: Error,
  { sent, answering, aborted }: FailureContext,
): { code: ClientErrorCode; message: string } {
  const reason = codeOf(error);
  if (aborted) {
    const when = sent ? 'under way' : 'before anything was sent';
    return { code: 'REQUEST_ABORTED', message: `aborted ${when}: ${reasonOf(error)}` };
  }
  if (reason === 'UND_ERR_INVALID_ARG') return { code: 'INVALID_REQUEST', message: error.message };
  if (reason === 'UND_ERR_CLOSED' || reason === 'UND_ERR_DESTROYED') {
    return { code: sent ? 'CONNECTION_LOST' : 'REQUEST_ABORTED', message: 'the client was closed' };
  }
  if (!sent) return { code: 'SERVICE_UNREACHABLE', message: `no connection to the service: ${reasonOf(error)}` };
  switch (reason) {
    case 'UND_ERR_HEADERS_TIMEOUT':
      return { code: 'REQUEST_TIMEOUT', message: 'no answer in time' };
    case 'UND_ERR_BODY_TIMEOUT':
      return { code: 'REQUEST_TIMEOUT', message: 'the answer stopped coming' };
    case 'UND_ERR_HEADERS_OVERFLOW':
      return { code: 'UNREADABLE_RESPONSE', message: 'the answer has too many headers' };
  }
  if (error instanceof errors.HTTPParserError)
    return { code: 'UNREADABLE_RESPONSE', message: 'the answer is not HTTP/1.1' };
  const when = answering ? 'in the middle of the answer' : 'before an answer came';
  return { code: 'CONNECTION_LOST', message: `the connection broke ${when}: ${reasonOf(error)}` };
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** Node tries every address of a host and then throws an AggregateError with an empty message. */
function reasonOf(error: Error): string {
  if (error instanceof AggregateError) {
    return error.errors.map((each) => (each instanceof Error ? each.message : String(each))).join('; ');
  }
  return error.message || codeOf(error) || error.name;
}
