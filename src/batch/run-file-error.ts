export const runFileErrorCodes = ['BATCH_MANIFEST_MISSING', 'BATCH_MANIFEST_DAMAGED', 'BATCH_PART_DAMAGED'] as const;
export type RunFileErrorCode = (typeof runFileErrorCodes)[number];

/** A file of a batch's run that is not what it was when it was written; trying again brings nothing. */
export class RunFileError extends Error {
  override readonly name = 'RunFileError';

  constructor(
    readonly code: RunFileErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
