/** File names in the folder of one run of a batch. */
export const runFiles = {
  /** The validated rows, one `BatchItem` per line. */
  manifest: 'manifest.jsonl',
  /** Rows of earlier runs that this run does not contain and that may have been charged without a result. */
  leftOut: 'left-out.jsonl',
  /** Results as they arrive: one `BatchItemResult` per line, in files `000001.jsonl` and so on. */
  parts: 'parts',
  /** The results of all rows in the manifest's order, once the run has ended. */
  results: 'results.jsonl',
} as const;

export const runFileErrorCodes = ['BATCH_MANIFEST_MISSING', 'BATCH_MANIFEST_DAMAGED', 'BATCH_PART_DAMAGED'] as const;
type RunFileErrorCode = (typeof runFileErrorCodes)[number];

/** A file of a batch's run was changed or removed after it was written; retrying does not help. */
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
