import { type ConnectionOptions, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];
type Call = ReturnType<Interceptor>;

/** Longer than any long poll of the server. */
const defaultAnswerWithinMs = 60_000;

/**
 * The SDK's retries, for a connection that may be closed while Temporal is away: a retry that is due after the close would throw an
 * uncaught error and end the command. Without a network each retry would take 45 seconds, so one deadline covers all retries of a
 * request.
 */
export function retriesThatEndQuietly({ answerWithinMs = defaultAnswerWithinMs } = {}): Interceptor[] {
  const answerInTime: Interceptor = (options, nextCall) => {
    const next: (options: Parameters<Interceptor>[0]) => unknown = nextCall;
    const latest = Date.now() + answerWithinMs;
    return next({ ...options, deadline: Math.min(latest, Number(options.deadline ?? latest)) }) as Call;
  };
  return [answerInTime, makeGrpcRetryInterceptor(defaultGrpcRetryOptions()), endQuietly];
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

/** A call that never answers, because its caller is gone. */
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
