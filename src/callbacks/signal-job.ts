import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import type { CallbackArrival, CallbackSubmission } from '../shared/job';
import { conversionCallbackSignal } from '../shared/names';

/** Wakes a job: resolves once Temporal has accepted the signal, or reported that the job has ended. */
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
 * Deduplicates the callbacks of a submit that arrive within seconds, so that a thousand of them add one event to the
 * job's history. A callback that names a task does not duplicate one that names none.
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
    // After a failure, the next callback must signal again.
    outcome.catch(() => recent.delete(key));
    return outcome;
  };
}
