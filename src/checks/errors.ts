/** This worker can't do the check that a job asks for: only its operator can change that. */
export class CheckUnavailableError extends Error {
  override readonly name = 'CheckUnavailableError';
}

/** A check came to no end, for a reason that is the machine's and not the result's. */
export class CheckNotRunError extends Error {
  override readonly name = 'CheckNotRunError';

  /** `mayBeOfResult`: if it is so again and again, it is the result's. */
  constructor(
    readonly why: string,
    readonly mayBeOfResult = false,
  ) {
    super(`The result could not be checked: ${why}.`);
  }
}
