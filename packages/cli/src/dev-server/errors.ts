type TemporalServerErrorCode =
  /** No Temporal binary could be found or downloaded; the message lists what was tried. */
  | 'BINARY_UNAVAILABLE'
  /** The binary that a variable names does not run or is too old. */
  | 'BINARY_UNUSABLE'
  /** Another process holds the lock. */
  | 'LOCK_HELD'
  /** The lock's file cannot be opened: its folder is read-only, or a folder stands in its place. */
  | 'LOCK_UNUSABLE'
  /** Another Temporal server already runs on the same database file. */
  | 'DATABASE_IN_USE'
  /** The server ended, or did not answer in time, while it started. */
  | 'START_FAILED'
  /** Somebody killed it while it started. */
  | 'START_KILLED';

/** What goes wrong while a Temporal binary is obtained or a server is run; `code` is stable. */
export class TemporalServerError extends Error {
  override readonly name = 'TemporalServerError';

  constructor(
    readonly code: TemporalServerErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
