import type { OnUnknownOutcome } from './job';

/**
 * What the service may have charged for the conversion that a job stands for.
 *
 * `no`: nothing was submitted, or the service refused it, or said that the task failed, which is free. `maybe`: a submit's outcome is
 * unknown. `yes`: the service accepted a task and has not said that it failed.
 */
export type Charge = 'no' | 'maybe' | 'yes';

/** What earlier runs of a job left behind at the service. */
export interface EarlierRuns {
  charge: Charge;
  /** The accepted task, with `charge: 'yes'`: it is awaited and fetched before anything is submitted. */
  taskId?: string;
  /** A conversion was submitted again although an earlier one may have been charged. It stays with the job for good. */
  possiblyChargedTwice?: true;
}

/**
 * What to do with a job that ended before and is asked for again.
 *
 * `keep`: nothing is sent, and the outcome stays what it was. `fetch`: the accepted task is awaited and its result downloaded; when the
 * service no longer knows the task, the policy decides as for an unknown outcome. `convert`: uploaded and submitted; `isMarked` when that
 * may be charged on top of an earlier submit.
 */
export type Repetition = { kind: 'keep' } | { kind: 'fetch'; taskId: string } | { kind: 'convert'; isMarked: boolean };

/**
 * The one decision about repeating a job, for `batch run`, `batch retry`, `job retry` and sweeps: the table in docs/repetition.md.
 *
 * @param options.isSameContent the source and the target format are those of the earlier run. What has changed is another conversion,
 * which nobody has paid yet, so `onUnknownOutcome: 'fail'` does not hold it back.
 * @param options.resubmit somebody asked to convert in any case.
 */
export function decideRepetition(
  { charge, taskId }: EarlierRuns,
  options: { onUnknownOutcome: OnUnknownOutcome; isSameContent: boolean; resubmit?: boolean },
): Repetition {
  if (charge === 'no') return { kind: 'convert', isMarked: false };
  if (!options.isSameContent || options.resubmit === true) return { kind: 'convert', isMarked: true };
  if (taskId !== undefined) return { kind: 'fetch', taskId };
  return options.onUnknownOutcome === 'fail' ? { kind: 'keep' } : { kind: 'convert', isMarked: true };
}
