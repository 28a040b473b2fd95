import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { CallbackArrival } from '../shared/callback';
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
