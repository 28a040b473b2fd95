import { StorageError, type StorageErrorCode } from '../storage/errors';

/** An error of the SDK itself, or of the server. */
interface Answer {
  /** S3's error code, such as `NoSuchKey`, or the SDK's. */
  readonly name: string;
  readonly status: number | undefined;
  readonly message: string;
}

export function answerOf(error: unknown): Answer {
  if (!(error instanceof Error)) return { name: '', status: undefined, message: String(error) };
  const { $metadata } = error as { $metadata?: { httpStatusCode?: number } };
  return { name: error.name, status: $metadata?.httpStatusCode, message: error.message };
}

export function isMissing(error: unknown): boolean {
  return ['NoSuchKey', 'NotFound'].includes(answerOf(error).name);
}

/** A precondition failed: the name is taken, or the object has changed. */
export function isRefusedByCondition(error: unknown): boolean {
  return answerOf(error).status === 412;
}

/** The error of a failed precondition, for when the result is known without a request. */
export function refusedByCondition(): Error {
  return Object.assign(new Error('the name is taken'), { $metadata: { httpStatusCode: 412 } });
}

interface Diagnosis {
  readonly code: Record<Doing, StorageErrorCode>;
  readonly why: string;
  readonly retryable?: true;
}
type Doing = 'read' | 'write';

const forGood = { read: 'SOURCE_UNREADABLE', write: 'DESTINATION_NOT_WRITABLE' } as const;
const missing = { read: 'SOURCE_NOT_FOUND', write: 'DESTINATION_NOT_WRITABLE' } as const;
const failed = { read: 'STORAGE_FAILED', write: 'STORAGE_FAILED' } as const;
const full = { read: 'STORAGE_FAILED', write: 'DESTINATION_FULL' } as const;

const badCredentials: Diagnosis = {
  code: forGood,
  why: 'the server does not accept the credentials. Correct them, and restart what uses them',
};
const wrongRegion: Diagnosis = {
  code: forGood,
  why: 'the bucket is in another region than the one that is set. Set the region of the bucket',
};
const cut: Diagnosis = { code: failed, why: 'the bytes stopped coming, or were damaged on their way', retryable: true };
const contended: Diagnosis = { code: failed, why: 'another request writes to the same key', retryable: true };
const slow: Diagnosis = { code: failed, why: 'the server asks for fewer requests', retryable: true };
const uploadEnded: Diagnosis = {
  code: { read: 'STORAGE_FAILED', write: 'TEMPORARY_FILE_LOST' },
  why: 'another attempt of the job, or a lifecycle rule of the bucket, has ended the upload',
  retryable: true,
};
const noRoom: Diagnosis = { code: full, why: 'no room is left at the server. Make room', retryable: true };

const diagnoses: Readonly<Record<string, Diagnosis>> = {
  NoSuchKey: { code: missing, why: 'there is no such object' },
  NotFound: { code: missing, why: 'there is no such object' },
  NoSuchBucket: { code: missing, why: 'there is no such bucket. Check its name, the endpoint and the region' },
  InvalidBucketName: { code: missing, why: 'this cannot be the name of a bucket. Check it' },
  KeyTooLongError: { code: missing, why: 'the key is too long. Choose a shorter one' },
  InvalidObjectState: { code: forGood, why: 'the object is archived. Restore it first' },
  AccessDenied: {
    code: forGood,
    why: 'these credentials may not do it. Allow s3:GetObject and s3:ListBucket to read, s3:PutObject and s3:AbortMultipartUpload too to write, and s3:DeleteObject too for the runs of batches and for hot folders',
  },
  InvalidAccessKeyId: badCredentials,
  SignatureDoesNotMatch: badCredentials,
  // Versitygw's code.
  XAdminUserNotFound: badCredentials,
  InvalidToken: badCredentials,
  CredentialsProviderError: {
    code: forGood,
    why: 'there are no credentials for it. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or a role of the machine, for the process that says this',
  },
  ExpiredToken: { code: failed, why: 'the credentials have expired. Renew them', retryable: true },
  RequestTimeTooSkewed: {
    code: failed,
    why: 'the clock of this machine differs too much from the clock of the server. Set it',
    retryable: true,
  },
  PermanentRedirect: wrongRegion,
  AuthorizationHeaderMalformed: wrongRegion,
  IllegalLocationConstraintException: wrongRegion,
  NoSuchUpload: uploadEnded,
  // S3's answer if the upload was ended while parts were in flight.
  InvalidPart: uploadEnded,
  ConditionalRequestConflict: contended,
  OperationAborted: contended,
  RequestTimeout: cut,
  IncompleteBody: cut,
  BadDigest: cut,
  NotImplemented: {
    code: forGood,
    why: 'the server lacks what this needs: conditional writes, checksums in trailers and multipart uploads. Use another server, or on_existing = "overwrite"',
  },
  QuotaExceeded: noRoom,
  InsufficientStorage: noRoom,
  XMinioStorageFull: noRoom,
  EntityTooLarge: { code: forGood, why: 'the server does not accept objects as large as this' },
  SlowDown: slow,
  TooManyRequests: slow,
  ThrottlingException: slow,
  'KMS.ThrottlingException': slow,
};

/** Names that the SDK gives to a response without a body, as to HEAD. */
const bare = /^(|Error|Unknown\w*|Forbidden|BadRequest|\d+)$/;
const byStatus: Readonly<Record<number, string>> = {
  301: 'PermanentRedirect',
  401: 'InvalidAccessKeyId',
  403: 'AccessDenied',
  404: 'NoSuchKey',
  429: 'SlowDown',
  501: 'NotImplemented',
  503: 'SlowDown',
  507: 'InsufficientStorage',
};

const endpointAdvice = 'See that it runs, and that the endpoint (AWS_ENDPOINT_URL_S3) is right';
const silent: Diagnosis = {
  code: failed,
  why: `the server does not answer in time. ${endpointAdvice}`,
  retryable: true,
};
const unreachable: Diagnosis = {
  code: failed,
  why: `there is no connection to the server. ${endpointAdvice}`,
  retryable: true,
};
const notS3: Diagnosis = {
  code: failed,
  why: `what answers is not an S3 server. ${endpointAdvice}`,
  retryable: true,
};
const noRegion: Diagnosis = { code: forGood, why: 'no region is set, or none that can be. Set AWS_REGION' };
const noEndpoint: Diagnosis = {
  code: forGood,
  why: 'the endpoint is not an http: or https: URL. Correct AWS_ENDPOINT_URL_S3',
};

/** For errors without a name: messages of the SDK, the system, TLS or the HTTP parser. */
const byMessage: readonly (readonly [words: RegExp, diagnosis: Diagnosis])[] = [
  [/region is missing|region not accepted/i, noRegion],
  [/invalid url|was not a valid uri/i, noEndpoint],
  [/could not load credentials|credential is missing/i, diagnoses['CredentialsProviderError'] ?? badCredentials],
  [/Deserialization error/i, notS3],
  [/request socket (timed out|did not establish)/i, silent],
  [/\b(ECONN[A-Z]+|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EPIPE|EPROTO)\b/, unreachable],
  [/socket hang up|socket disconnected|^Parse Error/i, unreachable],
];

export function sourceFailureOf(error: unknown, uri: string): StorageError {
  if (isRefusedByCondition(error)) return sourceChanged(uri);
  return failureOf(error, { uri, doing: 'read' });
}

function sourceChanged(uri: string): StorageError {
  const message = `Cannot read ${uri}: the object changed while it was in use.`;
  return new StorageError({ code: 'SOURCE_CHANGED', message, uri, retryable: true });
}

export function destinationFailureOf(error: unknown, uri: string): StorageError {
  return failureOf(error, { uri, doing: 'write' });
}

/** Converts a failed request to a `StorageError`. Not for what body, signal or `mayCommit` throw, which stays as it is. */
export async function asStorageErrors<T>(uri: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw destinationFailureOf(error, uri);
  }
}

function failureOf(error: unknown, { uri, doing }: { uri: string; doing: Doing }): StorageError {
  if (error instanceof StorageError) return error;
  const answer = answerOf(error);
  const { name, status, message } = answer;
  // S3 answers the listing of a nonexistent folder with an empty list, not 404.
  const isForeign = status === 404 && uri.endsWith('/') && name !== 'NoSuchBucket';
  const known =
    (isForeign ? notS3 : diagnoses[name]) ??
    byMessage.find(([words]) => words.test(message))?.[1] ??
    (bare.test(name) ? diagnoses[byStatus[status ?? 0] ?? ''] : undefined);
  const [said = ''] = message
    .replace(/^AWS SDK error wrapper for (Error: )?/, '')
    .replace(/[.\s]+$/, '')
    .split(/\s*\n\s*/);
  const reason = name === 'Error' ? said : `${name}: ${said}`;
  const proof = status === undefined && bare.test(name) ? said : name;
  return new StorageError({
    code: known?.code[doing] ?? 'STORAGE_FAILED',
    message: `Cannot ${doing} ${uri}: ${known ? `${known.why} (${proof})` : reason}.`,
    uri,
    // Unknown errors usually come from the network or a restarting server.
    retryable: known ? known.retryable === true : status === undefined || status >= 500 || status === 408,
    // The SDK's error also contains the request and the whole response.
    cause: new Error(reason),
  });
}
