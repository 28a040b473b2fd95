/** Tells the process that started this one, if it supervises us, that we are ready. */
export function reportReady(): void {
  process.send?.('ready');
}

/** Aborts when this process is asked to end: SIGTERM, Ctrl-C, or the death of the process that supervises it. */
export function untilAskedToEnd(): AbortSignal {
  const controller = new AbortController();
  const end = () => controller.abort();
  process.once('SIGTERM', end);
  process.once('SIGINT', end);
  if (process.send) process.once('disconnect', end);
  return controller.signal;
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
