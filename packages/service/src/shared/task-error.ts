import { errorMessage, type KnownErrorCode } from 'temporal-file-conversion/contract';

/** A request or a conversion that ends with one of the document's error codes. */
export class TaskError extends Error {
  override readonly name = 'TaskError';
  readonly code: KnownErrorCode;

  /** `subject` fills the placeholder in the code's message, `reason` follows it; `message` replaces both. */
  constructor(
    code: KnownErrorCode,
    { subject = '', reason, message }: { subject?: string; reason?: string | undefined; message?: string } = {},
  ) {
    const usual = errorMessage(code, subject);
    super(message ?? (reason === undefined ? usual : `${usual.replace(/\.$/, '')}: ${reason}.`));
    this.code = code;
  }
}
