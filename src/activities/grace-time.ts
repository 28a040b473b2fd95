import { Context } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';

/** For an answer that is on its way already. */
const lastMomentMs = 2_000;

/** Aborts right after the grace time of a worker that shuts down; not when the job is cancelled. */
export function whenGraceIsOver(): AbortSignal {
  const { cancellationSignal } = Context.current();
  const over = new AbortController();
  const look = () => {
    const { reason } = cancellationSignal as { reason: unknown };
    if (!(reason instanceof CancelledFailure) || reason.message !== 'WORKER_SHUTDOWN') return;
    const giveUp = () => over.abort(new Error('the worker was shut down, and its grace time was over'));
    setTimeout(giveUp, lastMomentMs).unref();
  };
  if (cancellationSignal.aborted) look();
  else cancellationSignal.addEventListener('abort', look, { once: true });
  return over.signal;
}
