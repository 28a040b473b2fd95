/** This worker can't do the check that a job asks for; only its operator can change that. */
export class CheckUnavailableError extends Error {
  override readonly name = 'CheckUnavailableError';
}

/** A check could not be completed because of the machine rather than the result. */
export class CheckNotRunError extends Error {
  override readonly name = 'CheckNotRunError';

  /** `mayBeOfResult`: if the check fails every time, the result is to blame. */
  constructor(
    readonly why: string,
    readonly mayBeOfResult = false,
  ) {
    super(`The result could not be checked: ${why}.`);
  }
}
