import type { OnUnknownOutcome } from './policies';

/** The uploaded content. */
export interface SourceContent {
  bytes: number;
  /** Lower-case hexadecimal. */
  sha256: string;
  /** Stamp of the file at that time: while it is the same, the file is unmodified. Absent if the store has none. */
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

/** State left at the service by earlier runs of a job. */
export interface EarlierRuns {
  charge: Charge;
  /** The accepted task, present exactly if `charge` is `yes`: it is fetched before anything is submitted. */
  taskId?: string;
  /** The content uploaded for that task, if known. */
  source?: SourceContent;
  /** Price of that task, if a run of the batch has reported it; no other run reports it again. */
  vcredits?: number;
  /** The task's result was delivered and is gone: it is fetched, or nothing is done. */
  delivered?: true;
  /** The task's result failed its check and was delivered beside its destination: nothing is left to pay or to send. */
  suspect?: true;
  /** The run of the job that left this, as a batch's ledger names it. */
  runId?: string;
  /** Conversions that may have been charged in addition to the one of `charge`. Absent: none. Never reset. */
  possiblyChargedExtra?: number;
}

/** Rules for a repeated conversion. */
export interface RepetitionRules {
  /** For conversions that may have been charged and have no task to fetch: `fail` sends nothing. */
  onUnknownOutcome: OnUnknownOutcome;
  /** Converts in any case. */
  again?: boolean | undefined;
}

/**
 * How to handle a repeated conversion.
 *
 * `done`: the result was delivered, even if it is gone now. `keep`: send nothing; the outcome stays. `fetch`: wait for the accepted
 * task and download its result; if the service has lost the task, decide as for an unknown outcome. `convert`: upload and submit;
 * `isMarked`: an earlier submit may have been charged too.
 */
export type Repetition =
  { kind: 'done' } | { kind: 'keep' } | { kind: 'fetch' } | { kind: 'convert'; isMarked: boolean };

/**
 * Decides how to handle a repeated conversion, for every caller: see docs/repetition.md.
 *
 * @param left by the last job, with `delivered` if its result was delivered.
 * @param isSameContent source and options are those of the earlier job. If they changed, it is another conversion.
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
  /** Submits of this run and the last of an earlier run that may have been charged and have no task to fetch. */
  private open = 0;
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
    const isOpen = (this.open > 0 || this.extra > 0) && !this.isDelivered;
    return this.current === 'no' && isOpen ? 'maybe' : this.current;
  }

  /** The accepted task, if its result can be fetched. */
  get taskId(): string | undefined {
    return this.task;
  }

  /** Conversions that may have been charged in addition to the one of `charge`. */
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

  /** The outcome of a submit is unknown. */
  unknown(): void {
    this.submit('maybe');
  }

  /** The last submit's outcome is now known, by a callback and the service's answer. */
  resolved(taskId: string): void {
    this.current = 'yes';
    this.task = taskId;
  }

  /** The service reported the task as failed, which is free. */
  failedAtService(): void {
    this.current = 'no';
    this.task = undefined;
  }

  /** The service no longer knows the task: it was charged, and its result can't be fetched. */
  lost(): void {
    if (this.current !== 'no' && !this.isDelivered) this.open += 1;
    this.current = 'no';
    this.task = undefined;
  }

  /** The job was reset, and ends without knowing what it has submitted since. */
  mayHaveSubmitted(): void {
    if (this.charge === 'no') this.current = 'maybe';
  }

  summary(): EarlierRuns {
    const { charge, task, extra } = this;
    return {
      charge,
      ...(task !== undefined && { taskId: task }),
      ...(extra > 0 && { possiblyChargedExtra: extra }),
    };
  }

  private submit(charge: Charge): void {
    this.lost();
    this.isDelivered = false;
    this.extra = this.extraBefore + this.open;
    this.current = charge;
  }
}
