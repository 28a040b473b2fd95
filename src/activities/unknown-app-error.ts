/** A job names an app profile that this worker does not have. */
export class UnknownAppError extends Error {
  override readonly name = 'UnknownAppError';
}
