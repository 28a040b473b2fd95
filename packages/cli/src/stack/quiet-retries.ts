import { type ConnectionOptions, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';

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
