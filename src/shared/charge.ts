import type { OnUnknownOutcome } from './policies';

/** The content that was uploaded. */
export interface SourceContent {
  bytes: number;
  /** Lower-case hexadecimal. */
  sha256: string;
  /** Stamp of the file at that time; the file is unmodified while it is the same. Absent where the store has none. */
  stamp?: string;
}

/**
 * What the service may have charged for a job's conversion.
 *
 * `no`: nothing was submitted, or the service refused it or reported the task as failed, which is free. `maybe`: a
 * submit's outcome is unknown. `yes`: the service accepted a task and has not reported it as failed.
 */
export const charges = ['no', 'maybe', 'yes'] as const;
export type Charge = (typeof charges)[number];

/** What earlier runs of a job left behind at the service. */
export interface EarlierRuns {
  charge: Charge;
  /** The accepted task, present exactly when `charge` is `yes`: it is fetched before anything is submitted. */
  taskId?: string;
  /** What was uploaded for that task, where known. */
  source?: SourceContent;
  /** The task's result was delivered and has since gone: if the service no longer has it, no charge is open. */
  delivered?: true;
  /** A conversion was resubmitted although an earlier one may have been charged. Never cleared. */
  possiblyChargedTwice?: true;
}

/**
 * What to do when a job that has ended is requested again.
 *
 * `keep`: send nothing; the outcome stays. `fetch`: wait for the accepted task and download its result; if the service
 * has lost the task, decide as for an unknown outcome. `convert`: upload and submit; `isMarked`: may be charged again.
 */
export type Repetition = { kind: 'keep' } | { kind: 'fetch'; taskId: string } | { kind: 'convert'; isMarked: boolean };

/**
 * Decides about repeating a job, for `batch run`, `batch retry`, `job retry`, `convert` and sweeps: see docs/repetition.md.
 *
 * @param options.isSameContent the source and the target format are those of the earlier run. A changed one is another
 * conversion, not paid for yet, so `onUnknownOutcome: 'fail'` does not block it.
 * @param options.resubmit convert in any case, by request.
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

/** Tracks what the submits of a job may have cost, over all its runs. */
export class ChargeLedger {
  /** An earlier submit may have been charged, and has nothing to fetch. */
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

  /** The accepted task, if its result can be fetched. */
  get taskId(): string | undefined {
    return this.task;
  }

  get possiblyChargedTwice(): boolean {
    return this.isMarked;
  }

  accepted(taskId: string): void {
    this.submit('yes');
    this.task = taskId;
  }

  /** A submit was sent, and its outcome is unknown. */
  unknown(): void {
    this.submit('maybe');
  }

  /** The service refused a submit: nothing ran, but it repeated one that may have been charged. */
  refused(): void {
    this.isMarked ||= this.charge !== 'no';
  }

  /** A callback and the service's answer resolved the last submit. */
  resolved(taskId: string): void {
    this.current = 'yes';
    this.task = taskId;
  }

  /** The service reported the task as failed, which is free. */
  failedAtService(): void {
    this.current = 'no';
    this.task = undefined;
  }

  /** The service no longer knows the task: it was charged, and there is nothing to fetch. */
  lost(): void {
    this.isPastOpen ||= this.current !== 'no' && !this.isDelivered;
    this.isDelivered = false;
    this.current = 'no';
    this.task = undefined;
  }

  /** A submit that this ledger has not seen may have been charged. */
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

/** Rules for conversions that an earlier run may have been charged for. */
export interface RepetitionRules {
  onUnknownOutcome: OnUnknownOutcome;
  /** Convert them in any case. */
  resubmit: boolean;
}

/**
 * The `earlier` input for a row's next job, by `decideRepetition`; `keep`: there must be no next job.
 *
 * @param left by a job without a result or, with `delivered`, by one whose delivered result has since gone.
 */
export function earlierOfNext(
  left: EarlierRuns,
  { rules, isSameContent }: { rules: RepetitionRules; isSameContent: boolean },
): EarlierRuns | 'keep' | undefined {
  const { charge, source, delivered, possiblyChargedTwice } = left;
  const mark = possiblyChargedTwice && { possiblyChargedTwice };
  // A task with an unknown source may be for other content.
  const task = source && left.taskId !== undefined ? { taskId: left.taskId, source } : undefined;
  if (delivered) {
    if (!isSameContent) return undefined;
    const isFetched = task && !rules.resubmit;
    return isFetched ? { charge, ...task, delivered, ...mark } : mark && { charge: 'no', ...mark };
  }
  const decision = decideRepetition({ charge, ...task }, { ...rules, isSameContent });
  switch (decision.kind) {
    case 'keep':
      return 'keep';
    case 'fetch':
      return { charge, ...task, ...mark };
    case 'convert':
      if (decision.isMarked) return { charge: 'maybe', ...mark };
      return mark && { charge: 'no', ...mark };
  }
}
