import { Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import type { ConnectionOptions } from '@temporalio/client';
import type { TemporalTarget } from '../config/temporal-connection';

/** A connection that is made when it is needed, and may be closed while a request waits to be repeated: that one is never answered. */
export function lazyConnection(options: TemporalTarget['connection']): Connection {
  return Connection.lazy({ ...options, interceptors: retriesThatEndQuietly() });
}

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];
type Call = ReturnType<Interceptor>;

/**
 * The SDK's retries, for a connection that may be closed while Temporal is away: a retry that comes due afterwards would throw where
 * nothing catches it, and end the command with an unrelated error.
 */
export function retriesThatEndQuietly(): Interceptor[] {
  return [makeGrpcRetryInterceptor(defaultGrpcRetryOptions()), endQuietly];
}

const endQuietly: Interceptor = (options, nextCall) => {
  const next: (options: Parameters<Interceptor>[0]) => unknown = nextCall;
  try {
    return next(options) as Call;
  } catch {
    const nobody: unknown = neverAnswered;
    return nobody as Call;
  }
};

/** A call that never answers: its caller has gone. */
const neverAnswered = {
  start: () => undefined,
  sendMessage: () => undefined,
  sendMessageWithContext: () => undefined,
  startRead: () => undefined,
  halfClose: () => undefined,
  cancelWithStatus: () => undefined,
  getPeer: () => '',
  getAuthContext: () => null,
};
