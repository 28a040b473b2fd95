/** A signal that aborts after a time or with another signal. Its creator must call `end`. */
export interface TimeLimit {
  readonly signal: AbortSignal;
  /** The time ran out before the other signal aborted. */
  readonly isOver: boolean;
  /** Stops timer and listener: nothing is aborted any more. */
  end(): void;
}

/**
 * Replaces `AbortSignal.any([signal, AbortSignal.timeout(ms)])`: Node 20 may collect an otherwise unreferenced timeout, which then
 * never fires, and leaks a combined signal that has a listener.
 */
export function limitTime(signal: AbortSignal, ms: number): TimeLimit {
  const limited = new AbortController();
  let isOver = false;
  const follow = () => limited.abort(signal.reason);
  const timer = setTimeout(() => {
    isOver = true;
    limited.abort(new DOMException(`It took longer than ${ms} ms.`, 'TimeoutError'));
  }, ms).unref();
  const end = () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', follow);
  };
  limited.signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) follow();
  else signal.addEventListener('abort', follow, { once: true });
  return {
    signal: limited.signal,
    end,
    get isOver() {
      return isOver;
    },
  };
}
