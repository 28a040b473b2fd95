import { systemErrorCode } from '../messages/system-error';
import type { FileSnapshot } from './file-store';

/** Codes of failures to read a source or to write a result. */
export const storageErrorCodes = [
  'UNSUPPORTED_URI',
  'SOURCE_NOT_FOUND',
  'SOURCE_IS_DIRECTORY',
  'SOURCE_EMPTY',
  'SOURCE_UNREADABLE',
  /** Opens only with a password or a certificate. */
  'SOURCE_PROTECTED',
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
  /** The number of bytes received differs from the one announced by the service. Retryable. */
  'SIZE_MISMATCH',
  /** Another attempt of the same job took over and removed this attempt's temporary file. */
  'TEMPORARY_FILE_LOST',
  /** Any other file system failure. */
  'STORAGE_FAILED',
] as const;
export type StorageErrorCode = (typeof storageErrorCodes)[number];

/** A file could not be read or written; the message names the file and the remedy. */
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

interface Refusal {
  code: StorageErrorCode;
  /** The reason and the remedy. */
  why: string;
  retryable?: boolean;
}

const refuser =
  (doing: 'read' | 'write') =>
  (uri: string, { why, ...refusal }: Refusal): StorageError =>
    new StorageError({ ...refusal, message: `Cannot ${doing} ${uri}: ${why}`, uri });
export const cannotRead = refuser('read');
export const cannotWrite = refuser('write');

export function cannotUse(uri: string, why: string, cause?: unknown): StorageError {
  const message = `Cannot use ${JSON.stringify(uri)}: ${why}.`;
  return new StorageError({ code: 'UNSUPPORTED_URI', message, uri, cause });
}

export function isEmpty(uri: string): StorageError {
  return new StorageError({ code: 'SOURCE_EMPTY', message: `Cannot convert ${uri}: the file is empty.`, uri });
}

export function isLocked(uri: string): StorageError {
  const message = `Cannot convert ${uri}: it opens only with a password or a certificate. Put a copy without one in its place.`;
  return new StorageError({ code: 'SOURCE_PROTECTED', message, uri });
}

/** Snapshot for a file that can't be looked at. @throws the failure itself if it is retryable */
export function notLookedAt(failure: StorageError): FileSnapshot {
  if (failure.retryable) throw failure;
  return unseen(failure);
}

export function unseen(failure: StorageError): FileSnapshot & { kind: 'none' } {
  const reason = failure.message.slice(failure.message.indexOf(': ') + 2).replace(/\.$/, '');
  return { kind: 'none', reason: `cannot be looked at: ${reason}`, isLink: false, isUnseen: true };
}

export function alreadyExists(uri: string): StorageError {
  const why = 'it already exists; choose another name, or skip, overwrite or rename.';
  return cannotWrite(uri, { code: 'DESTINATION_EXISTS', why });
}

export function isItsSource(uri: string): StorageError {
  const why = 'it is the source itself; choose another destination.';
  return cannotWrite(uri, { code: 'DESTINATION_IS_SOURCE', why });
}

/** @throws StorageError SIZE_MISMATCH */
export function assertSize(uri: string, expected: number | undefined, came: number, isWhole: boolean): void {
  if (expected === undefined || (came <= expected && (!isWhole || came === expected))) return;
  const why =
    came > expected
      ? `the sender sent more than the ${expected} bytes that were announced.`
      : `the sender ended after ${came} of the ${expected} bytes that were announced.`;
  throw cannotWrite(uri, { code: 'SIZE_MISMATCH', why, retryable: true });
}

type Diagnosis = readonly [code: StorageErrorCode, advice: string];

const sourceDiagnoses: Readonly<Record<string, Diagnosis>> = {
  ENOENT: ['SOURCE_NOT_FOUND', 'there is no such file'],
  ENOTDIR: ['SOURCE_NOT_FOUND', 'a part of its path is not a folder'],
  EISDIR: ['SOURCE_IS_DIRECTORY', 'it is a folder; name a file'],
  EACCES: ['SOURCE_UNREADABLE', 'this user may not read it'],
  EPERM: ['SOURCE_UNREADABLE', 'this user may not read it'],
  ELOOP: ['SOURCE_UNREADABLE', 'its symbolic links form a loop'],
  ENAMETOOLONG: ['SOURCE_NOT_FOUND', 'the name is too long for the file system'],
};

const destinationDiagnoses: Readonly<Record<string, Diagnosis>> = {
  ENOSPC: ['DESTINATION_FULL', 'no space is left on the device. Make room'],
  EDQUOT: ['DESTINATION_FULL', "this user's disk quota is used up. Make room"],
  // More room would not help.
  EFBIG: ['DESTINATION_NOT_WRITABLE', 'the file is larger than the file system or a limit allows'],
  EACCES: ['DESTINATION_NOT_WRITABLE', 'this user may not write there'],
  EPERM: ['DESTINATION_NOT_WRITABLE', 'this user may not write there'],
  EROFS: ['DESTINATION_NOT_WRITABLE', 'the file system is read-only'],
  ENOTDIR: ['DESTINATION_NOT_WRITABLE', 'a part of its path is not a folder'],
  // From mkdir, if a file is in the folder's place.
  EEXIST: ['DESTINATION_NOT_WRITABLE', 'a part of its path is not a folder'],
  ENOENT: ['DESTINATION_NOT_WRITABLE', 'its folder was removed, or cannot be made'],
  ELOOP: ['DESTINATION_NOT_WRITABLE', 'its symbolic links form a loop'],
  ENAMETOOLONG: ['DESTINATION_NOT_WRITABLE', 'the name is too long for the file system'],
  EISDIR: ['DESTINATION_IS_DIRECTORY', 'a folder of this name stands there'],
  ENOTEMPTY: ['DESTINATION_IS_DIRECTORY', 'a folder of this name stands there'],
};

export function sourceFailure(error: unknown, uri: string): StorageError {
  return failure(error, { uri, doing: 'Cannot read', diagnoses: sourceDiagnoses });
}

export function destinationFailure(error: unknown, uri: string): StorageError {
  return failure(error, { uri, doing: 'Cannot write', diagnoses: destinationDiagnoses });
}

/** Runs a step of a write and converts its failure to one of the destination. */
export async function writing<T>(uri: string, step: () => T | Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    throw destinationFailure(error, uri);
  }
}

export function systemCode(error: unknown): string {
  return systemErrorCode(error) ?? '';
}

function failure(
  error: unknown,
  { uri, doing, diagnoses }: { uri: string; doing: string; diagnoses: Readonly<Record<string, Diagnosis>> },
): StorageError {
  if (error instanceof StorageError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  const known = diagnoses[systemCode(error)];
  // EIO, EMFILE, ESTALE and others: the next attempt may succeed.
  const [code, why] = known ? [known[0], `${known[1]}.`] : (['STORAGE_FAILED', reason] as const);
  return new StorageError({ code, message: `${doing} ${uri}: ${why}`, uri, retryable: !known, cause: error });
}
