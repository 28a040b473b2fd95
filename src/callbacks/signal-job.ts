import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import type { CallbackArrival, CallbackSubmission } from '../shared/callback';
import { conversionCallbackSignal } from '../shared/names';

/** Wakes a job: resolves once Temporal has accepted the signal, or has said that there is nobody to wake. */
export type SignalJob = (workflowId: string, arrival: CallbackArrival) => Promise<'accepted' | 'jobOver'>;

/** @param timeoutMs for one signal, after which Temporal counts as unreachable. */
export function createSignalJob(client: Client, timeoutMs = 10_000): SignalJob {
  return async (workflowId, arrival) => {
    try {
      await client.withDeadline(Date.now() + timeoutMs, () =>
        client.workflow.getHandle(workflowId).signal(conversionCallbackSignal, arrival),
      );
      return 'accepted';
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return 'jobOver';
      throw error;
    }
  };
}

type Outcome = ReturnType<SignalJob>;

const rememberedForMs = 10_000;
const maxRemembered = 10_000;

/**
 * Signals once for all the callbacks of a submit that come within seconds of each other: a thousand duplicates are one event in the job's
 * history. One that names a task is not a duplicate of one that names none.
 */
export function createSignalOnce(signalJob: SignalJob, now: () => number = Date.now) {
  const recent = new Map<string, { at: number; outcome: Outcome }>();

  function forgetOld(): void {
    for (const [key, { at }] of recent) {
      if (recent.size <= maxRemembered && now() - at < rememberedForMs) return;
      recent.delete(key);
    }
  }

  return ({ workflowId, nonce }: CallbackSubmission, taskId: string | undefined): Outcome => {
    forgetOld();
    const key = `${taskId === undefined ? 'plain' : 'hint'} ${nonce} ${workflowId}`;
    const known = recent.get(key);
    if (known) return known.outcome;
    const at = now();
    const arrival: CallbackArrival = { nonce, arrivedAt: at, ...(taskId !== undefined && { taskId }) };
    const outcome = signalJob(workflowId, arrival);
    recent.set(key, { at, outcome });
    // What Temporal did not accept has to be tried again by whoever sends it again.
    outcome.catch(() => recent.delete(key));
    return outcome;
  };
}
