/** The submit that a callback belongs to: what a callback URL names and signs. */
export interface CallbackSubmission {
  workflowId: string;
  /** New for each submit of a job. */
  nonce: string;
}

/** What the signal `conversionCallback` carries. It wakes a job and decides nothing: the job asks the service itself. */
export interface CallbackArrival {
  nonce: string;
  /** Milliseconds since the epoch, by the receiver's clock. */
  arrivedAt: number;
  /** A hint from the callback's body, for a job that does not know its task's id. Only the service's answer about it counts. */
  taskId?: string;
}
