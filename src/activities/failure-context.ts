import type { Parking } from '../job/activities';
import type { NoticeType } from '../job/names';
import type { RetryPauses } from './pauses';

/** What is known when an activity fails. */
export interface FailureContext {
  step: 'upload' | 'submit' | 'check' | 'download' | 'batch' | 'plan';
  app: string;
  attempt: number;
  /** Attempts refused by a rate limit, including this one if it was. Default: 1. */
  refusals?: number;
  /** Backoff between failed attempts. Default: the server's retry policy. */
  pauses?: RetryPauses | undefined;
  /** Requests sent by all attempts so far. */
  requests: number;
  taskId?: string;
  /** How the job parks. Default: it is not parked, and a refused account fails it. */
  parking?: Parking | undefined;
  /** Pause of a parked job until the next probe. Default: as after other failures. */
  probeAfterMs?: number | undefined;
  callback?: boolean;
  /** The task id comes from a callback; the service may not know it. */
  taskIsHint?: boolean;
  /** A request that must not be repeated may have run. */
  sentUnrepeatable?: boolean;
  /** Size of the file for the destination, if known. */
  neededBytes?: number | undefined;
  /** The service refused the token, but the next attempt may send another. */
  mayHaveOtherToken?: boolean | undefined;
  /** Consecutive attempts with an unreadable response, including this one if it had one. Default: 1. */
  unreadableInARow?: number;
  /** Consecutive answers that the accepted task or its result is missing, including this one if it was. Default: none before. */
  missing?: MissingAnswers | undefined;
  /** An earlier run of the job submitted the task. */
  isEarlierTask?: boolean;
  /** Milliseconds left until the activity's deadline. Default: unlimited. */
  leftMs?: () => number;
  /** Set by a plan: see `NoticeSettings`. */
  notifies?: readonly NoticeType[] | undefined;
  /** Milliseconds since the epoch by the Temporal server's clock. Default: this machine's clock. */
  serverNow?: () => number;
}

/** Successive answers that a task or its result is missing: their number, and the first's time in milliseconds since the epoch. */
export interface MissingAnswers {
  answers: number;
  since: number;
}

/** Whether the service has accepted the conversion: only its final answer about the task, or the deadline, ends the job. */
export function isPaid({ step }: Pick<FailureContext, 'step'>): boolean {
  return step === 'check' || step === 'download';
}
