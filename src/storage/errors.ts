/** Codes of failures to read a source or to write a result. */
export const storageErrorCodes = [
  'UNSUPPORTED_URI',
  'SOURCE_NOT_FOUND',
  'SOURCE_IS_DIRECTORY',
  'SOURCE_EMPTY',
  'SOURCE_UNREADABLE',
  /** The source is not the file it was when the job looked at it; a new attempt starts from the new one. */
  'SOURCE_CHANGED',
  'DESTINATION_EXISTS',
  'DESTINATION_IS_DIRECTORY',
  /** The result would replace its own source. */
  'DESTINATION_IS_SOURCE',
  'DESTINATION_NOT_WRITABLE',
  /** This worker does not see the folder that another one has prepared for the result; one that does may. Retryable. */
  'DESTINATION_NOT_SHARED',
  /** No space or no quota left: once there is, the same step can succeed. */
  'DESTINATION_FULL',
  /** The bytes that arrived are not as many as the service said. Retryable. */
  'SIZE_MISMATCH',
  /** Another attempt of the same job took over and removed this one's temporary file. */
  'TEMPORARY_FILE_LOST',
  /** Any other failure of the file system. */
  'STORAGE_FAILED',
] as const;
export type StorageErrorCode = (typeof storageErrorCodes)[number];

/** A file that could not be read or written; the message names it and says what to do. */
export class StorageError extends Error {
  override readonly name = 'StorageError';
  readonly code: StorageErrorCode;
  readonly uri: string;
  /** Whether the same step can succeed later with nothing changed by a person. */
  readonly retryable: boolean;

  constructor(fields: { code: StorageErrorCode; message: string; uri: string; retryable?: boolean; cause?: unknown }) {
    super(fields.message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.code = fields.code;
    this.uri = fields.uri;
    this.retryable = fields.retryable ?? false;
  }
}
