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
  /** Price of that task, if a run of the batch has told it: no other tells it again. */
  vcredits?: number;
  /** The task's result was delivered and has since gone: it is fetched, or nothing is done. */
  delivered?: true;
  /** The task's result was delivered beside its destination, for it has not passed its check: nothing is owed, and nothing sent. */
  suspect?: true;
  /** Conversions that may have been charged beside the one of `charge`. Absent: none. Never reset. */
  possiblyChargedExtra?: number;
}

/** Rules for a conversion that is asked for again. */
export interface RepetitionRules {
  /** For conversions that may have been charged and have nothing to fetch: `fail` sends nothing. */
  onUnknownOutcome: OnUnknownOutcome;
  /** Convert whatever is known. */
  again?: boolean | undefined;
}

/**
 * What to do when a conversion is asked for again.
 *
 * `done`: it was delivered, whatever became of the result since. `keep`: send nothing; the outcome stays. `fetch`: wait
 * for the accepted task and download its result; if the service has lost the task, decide as for an unknown outcome.
 * `convert`: upload and submit; `isMarked`: an earlier submit is still open, and may have been charged too.
 */
export type Repetition =
  { kind: 'done' } | { kind: 'keep' } | { kind: 'fetch' } | { kind: 'convert'; isMarked: boolean };

/**
 * Decides about a conversion that is asked for again, whoever asks: see docs/repetition.md.
 *
 * @param left by the last job, with `delivered` if its result was delivered.
 * @param isSameContent the source and the options are those of the earlier job. A changed one is another conversion.
 */
export function decideRepetition(
  { charge, taskId, delivered, suspect }: EarlierRuns,
  { onUnknownOutcome, again, isSameContent }: RepetitionRules & { isSameContent: boolean },
): Repetition {
  if (delivered) return isSameContent && !again ? { kind: 'done' } : { kind: 'convert', isMarked: false };
  if (suspect) return isSameContent && !again ? { kind: 'keep' } : { kind: 'convert', isMarked: false };
  if (charge === 'no') return { kind: 'convert', isMarked: false };
  if (!isSameContent || again) return { kind: 'convert', isMarked: true };
  if (charge === 'yes' && taskId !== undefined) return { kind: 'fetch' };
  return onUnknownOutcome === 'fail' ? { kind: 'keep' } : { kind: 'convert', isMarked: true };
}

/** Tracks what the submits of a job may have cost, over all its runs. */
export class ChargeLedger {
  /** Submits of this run, and the last of an earlier one, that may have been charged and have nothing to fetch. */
  private open = 0;
  /** The job was reset: a submit that this ledger has not seen may have been charged. */
  private hasUnseen = false;
  private current: Charge = 'no';
  private task: string | undefined;
  private readonly extraBefore: number;
  private extra: number;
  private isDelivered = false;

  constructor(earlier: EarlierRuns = { charge: 'no' }) {
    this.current = earlier.charge;
    this.task = earlier.charge === 'yes' ? earlier.taskId : undefined;
    this.extraBefore = earlier.possiblyChargedExtra ?? 0;
    this.extra = this.extraBefore;
    this.isDelivered = earlier.delivered === true;
  }

  get charge(): Charge {
    return this.current === 'no' && this.opens > 0 ? 'maybe' : this.current;
  }

  /** The accepted task, if its result can be fetched. */
  get taskId(): string | undefined {
    return this.task;
  }

  /** Conversions that may have been charged beside the one of `charge`. */
  get possiblyChargedExtra(): number {
    return this.extra;
  }

  get possiblyChargedTwice(): boolean {
    return this.extra > 0;
  }

  accepted(taskId: string): void {
    this.submit('yes');
    this.task = taskId;
  }

  /** A submit was sent, and its outcome is unknown. */
  unknown(): void {
    this.submit('maybe');
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
    if (this.current !== 'no' && !this.isDelivered) this.open += 1;
    this.isDelivered = false;
    this.current = 'no';
    this.task = undefined;
  }

  /** A submit that this ledger has not seen may have been charged. */
  foundOpen(): void {
    this.hasUnseen = true;
  }

  summary(): EarlierRuns {
    const { charge, task, extra } = this;
    return {
      charge,
      ...(task !== undefined && { taskId: task }),
      ...(extra > 0 && { possiblyChargedExtra: extra }),
    };
  }

  private get opens(): number {
    return this.open + (this.hasUnseen ? 1 : 0);
  }

  private submit(charge: Charge): void {
    this.lost();
    this.extra = this.extraBefore + this.opens;
    this.current = charge;
  }
}
