import type { BatchItem } from '../shared/batch';
import type { EarlierRuns } from '../shared/charge';
import type { JobOutcome } from '../shared/batch-activities';

/** An item whose turn has come and that has not ended. */
export interface Flight extends CarriedFlight {
  /** Of flights that began in an earlier run it is read again when it is needed. */
  row?: BatchItem;
}

/** What is carried from run to run. Small, however long the item's paths are: there may be 500 of them. */
export interface CarriedFlight {
  item: number;
  /** Where its row begins in the manifest. */
  byte: number;
  /** Milliseconds since the epoch. */
  startedAt: number;
  step: FlightStep;
  /** The job that it stands for, or that it looks at. */
  job?: { workflowId: string; runId?: string };
  /** What earlier jobs of the row left behind at the service. */
  earlier?: EarlierRuns;
  /** When the one ended that this was found out from, in milliseconds since the epoch. */
  foundAt?: number;
}

/**
 * `starting`: no job is known yet. `looking`: `job` may be the row's; those of `others` are looked at after it. `blocked`: `job` does something else
 * under the id of this item. `started`: `job` was started by this run, which hears of its end. `awaited`: it was not. `untold`: it has ended, as
 * `told` says, without a word about what it left behind.
 */
export type FlightStep =
  | { kind: 'starting'; /** Run of another job that had the id before. */ after?: string }
  | { kind: 'looking'; others: number[] }
  | { kind: 'blocked' }
  | { kind: 'started' }
  | { kind: 'awaited' }
  | { kind: 'untold'; told: JobOutcome };

/** What an outcome says about money, for whoever repeats the row. */
export function leftBy({ charge = 'maybe', taskId, source, possiblyChargedTwice }: JobOutcome): EarlierRuns {
  return {
    charge,
    ...(taskId !== undefined && { taskId }),
    ...(source && { source }),
    ...(possiblyChargedTwice === true && { possiblyChargedTwice }),
  };
}

/** The next run has not started it. */
export function carriedFlight({ item, byte, startedAt, step, job, earlier, foundAt }: Flight): CarriedFlight {
  return {
    item,
    byte,
    startedAt,
    step: step.kind === 'started' ? { kind: 'awaited' } : step,
    ...(job && { job }),
    ...(earlier && { earlier }),
    ...(foundAt !== undefined && { foundAt }),
  };
}
