/** A signal that aborts after some time, or with another signal. Whoever made it calls `end`. */
export interface TimeLimit {
  readonly signal: AbortSignal;
  /** The time is over, and the other signal was not first. */
  readonly isOver: boolean;
  /** Aborts nothing from now on. */
  end(): void;
}

/**
 * In place of `AbortSignal.any([signal, AbortSignal.timeout(ms)])`: Node 20 frees a time-out that nothing else refers to, so that it never
 * comes, and keeps a joined signal that somebody listens to for ever.
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
