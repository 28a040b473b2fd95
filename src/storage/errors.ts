/** Codes of failures to read a source or to write a result. */
export const storageErrorCodes = [
  'UNSUPPORTED_URI',
  'SOURCE_NOT_FOUND',
  'SOURCE_IS_DIRECTORY',
  'SOURCE_EMPTY',
  'SOURCE_UNREADABLE',
  /** The source changed after the job first looked at it; a new attempt starts from the new content. */
  'SOURCE_CHANGED',
  'DESTINATION_EXISTS',
  'DESTINATION_IS_DIRECTORY',
  /** The result would replace its own source. */
  'DESTINATION_IS_SOURCE',
  'DESTINATION_NOT_WRITABLE',
  /** This worker does not see the folder that another worker prepared for the result; other workers may. Retryable. */
  'DESTINATION_NOT_SHARED',
  /** No space or quota left; the same step can succeed once there is. */
  'DESTINATION_FULL',
  /** The number of bytes received differs from what the service said. Retryable. */
  'SIZE_MISMATCH',
  /** Another attempt of the same job took over and removed this attempt's temporary file. */
  'TEMPORARY_FILE_LOST',
  /** Any other file system failure. */
  'STORAGE_FAILED',
] as const;
export type StorageErrorCode = (typeof storageErrorCodes)[number];

/** A file could not be read or written; the message names the file and says what to do. */
export class StorageError extends Error {
  override readonly name = 'StorageError';
  readonly code: StorageErrorCode;
  readonly uri: string;
  /** Whether the same step can succeed later without manual changes. */
  readonly retryable: boolean;

  constructor(fields: { code: StorageErrorCode; message: string; uri: string; retryable?: boolean; cause?: unknown }) {
    super(fields.message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.code = fields.code;
    this.uri = fields.uri;
    this.retryable = fields.retryable ?? false;
  }
}
