export const batchReportErrorCodes = [
  /** The run has no results yet: they are merged when the batch ends. */
  'RESULTS_MISSING',
  'MANIFEST_MISSING',
  /** A line of the run's files is not what the batch writes. */
  'RUN_UNREADABLE',
] as const;
export type BatchReportErrorCode = (typeof batchReportErrorCodes)[number];

/** The report cannot be made; the message names the file and says what to do. */
export class BatchReportError extends Error {
  override readonly name = 'BatchReportError';
  readonly code: BatchReportErrorCode;

  constructor(fields: { code: BatchReportErrorCode; message: string; cause?: unknown }) {
    super(fields.message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.code = fields.code;
  }
}
