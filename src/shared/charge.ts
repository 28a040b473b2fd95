import type { OnUnknownOutcome } from './choices';

/** The content that was uploaded. */
export interface SourceContent {
  bytes: number;
  /** Lower-case hexadecimal. */
  sha256: string;
  /** Of the file as it was then: as long as its stamp is the same, nobody has written to it. Absent where the store has none. */
  stamp?: string;
}

/**
 * What the service may have charged for the conversion that a job stands for.
 *
 * `no`: nothing was submitted, or the service refused it, or said that the task failed, which is free. `maybe`: a submit's outcome is
 * unknown. `yes`: the service accepted a task and has not said that it failed.
 */
export const charges = ['no', 'maybe', 'yes'] as const;
export type Charge = (typeof charges)[number];

/** What earlier runs of a job left behind at the service. */
export interface EarlierRuns {
  charge: Charge;
  /** The accepted task, always there with `charge: 'yes'` and only then: it is awaited and fetched before anything is submitted. */
  taskId?: string;
  /** What was uploaded for that task, where it is known. */
  source?: SourceContent;
  /** The task's result was delivered, and is gone since: nothing is open when the service does not have it any more. */
  delivered?: true;
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
  if (charge === 'yes' && taskId !== undefined) return { kind: 'fetch', taskId };
  return options.onUnknownOutcome === 'fail' ? { kind: 'keep' } : { kind: 'convert', isMarked: true };
}

/** Follows what the submits of a job may have cost, over all its runs. */
export class ChargeLedger {
  /** A submit before the current one may have been charged, and there is nothing to fetch of it. */
  private isPastOpen = false;
  private current: Charge = 'no';
  private task: string | undefined;
  private isMarked = false;
  private isDelivered = false;

  constructor(earlier?: EarlierRuns) {
    if (earlier === undefined) return;
    this.current = earlier.charge;
    this.task = earlier.charge === 'yes' ? earlier.taskId : undefined;
    this.isMarked = earlier.possiblyChargedTwice === true;
    this.isDelivered = earlier.delivered === true;
  }

  get charge(): Charge {
    return this.current === 'no' && this.isPastOpen ? 'maybe' : this.current;
  }

  /** The accepted task that there is something to fetch of. */
  get taskId(): string | undefined {
    return this.task;
  }

  get possiblyChargedTwice(): boolean {
    return this.isMarked;
  }

  /** The service accepted a submit. */
  accepted(taskId: string): void {
    this.submit('yes');
    this.task = taskId;
  }

  /** A submit was sent, and no answer tells what became of it. */
  unknown(): void {
    this.submit('maybe');
  }

  /** The service refused a submit: nothing ran, but it was asked for again what may have been charged before. */
  refused(): void {
    this.isMarked ||= this.charge !== 'no';
  }

  /** A callback and the service's own answer told what became of the last submit. */
  resolved(taskId: string): void {
    this.current = 'yes';
    this.task = taskId;
  }

  /** The service says that the task failed, which is free. */
  failedAtService(): void {
    this.current = 'no';
    this.task = undefined;
  }

  /** The service does not know the task any more: it was charged, and there is nothing to fetch. */
  lost(): void {
    this.isPastOpen ||= this.current !== 'no' && !this.isDelivered;
    this.isDelivered = false;
    this.current = 'no';
    this.task = undefined;
  }

  /** Something that this ledger has not seen may have submitted before. */
  foundOpen(): void {
    this.isPastOpen = true;
  }

  summary(): EarlierRuns {
    const { charge, task, isMarked } = this;
    return {
      charge,
      ...(task !== undefined && { taskId: task }),
      ...(isMarked && { possiblyChargedTwice: true }),
    };
  }

  private submit(charge: Charge): void {
    this.lost();
    this.isMarked ||= this.isPastOpen;
    this.current = charge;
  }
}
