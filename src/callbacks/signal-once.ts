import type { CallbackArrival, CallbackSubmission } from '../shared/callback';
import type { SignalJob } from './signal-job';

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
