import { errorMessage, type KnownErrorCode } from '../api/error-codes';

/** A request or a conversion that ends with one of the document's error codes. */
export class TaskError extends Error {
  override readonly name = 'TaskError';
  readonly code: KnownErrorCode;

  /** `subject` fills the placeholder of the code's message; `message` replaces the whole of it. */
  constructor(code: KnownErrorCode, { subject = '', message }: { subject?: string; message?: string } = {}) {
    super(message ?? errorMessage(code, subject));
    this.code = code;
  }
}
