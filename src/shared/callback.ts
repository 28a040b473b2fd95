/** The submit that a callback belongs to: the signed part of a callback URL. */
export interface CallbackSubmission {
  workflowId: string;
  /** New for each submit of a job. */
  nonce: string;
}

/** Argument of the signal `conversionCallback`. It only wakes the job, which then polls the service itself. */
export interface CallbackArrival {
  nonce: string;
  /** Milliseconds since the epoch, by the receiver's clock. */
  arrivedAt: number;
  /** From the callback's body, for a job that does not know its task id. A hint: only the service's answer counts. */
  taskId?: string;
}
