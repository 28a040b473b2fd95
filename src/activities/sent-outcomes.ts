import { ApplicationFailure } from '@temporalio/common';
import type { ConvertFileResult } from '../job/activities';
import type { ActivityAttempt } from './activity-attempt';
import { UnknownSubmitError } from './failure';

/** More than a worker's concurrent attempts. */
const maxOutcomes = 1_000;

/** Outcomes of attempts with a fence, kept for the next attempt in case Temporal does not receive them in time. */
export class SentOutcomes {
  readonly #kept = new Map<string, { outcome: Promise<ConvertFileResult>; failure: ActivityAttempt['failure'] }>();

  keep(attempt: ActivityAttempt, outcome: Promise<ConvertFileResult>): void {
    this.#kept.set(keyOf(attempt, 0), { outcome, failure: attempt.failure });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > maxOutcomes && oldest !== undefined) this.#kept.delete(oldest);
  }

  /**
   * Returns an outcome only once, since Temporal may be unable to accept it.
   * @throws UnknownSubmitError if another process sent the request; otherwise as the earlier attempt did.
   */
  async ofLastAttempt(attempt: ActivityAttempt): Promise<ConvertFileResult> {
    const [last, key] = [keyOf(attempt, 1), keyOf(attempt, 0)];
    const kept = this.#kept.get(last);
    this.#kept.delete(last);
    if (!kept) throw new UnknownSubmitError();
    // For the next attempt, in case this one is lost too before it knows or can lower the fence.
    this.#kept.set(key, kept);
    try {
      const result = await kept.outcome;
      this.#kept.delete(key);
      return result;
    } catch (error) {
      const hasRun = kept.failure.sentUnrepeatable === true;
      if (!hasRun) await attempt.heartbeat.record({ phase: 'waiting' });
      this.#kept.delete(key);
      if (error instanceof ApplicationFailure) throw error;
      throw hasRun ? new UnknownSubmitError() : new Error('nothing came of the last attempt.');
    }
  }
}

function keyOf({ context: { info }, number }: ActivityAttempt, before: number): string {
  return [info.workflowExecution?.runId, info.activityId, number - before].join('/');
}
