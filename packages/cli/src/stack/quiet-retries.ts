import { type ConnectionOptions, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];
type Call = ReturnType<Interceptor>;

/** Longer than the server lets any request wait. */
const defaultAnswerWithinMs = 60_000;

/**
 * The SDK's retries, for a connection that may be closed while Temporal is away: a retry that comes due afterwards would throw where
 * nothing catches it, and end the command with an unrelated error. Where the network has gone, and no answer comes, each of them would
 * take 45 seconds: a request has so much time for all of them together.
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
