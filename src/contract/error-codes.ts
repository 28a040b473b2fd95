/**
 * Every error code of the document ("Errors") and of the pages around it, in one table: HTTP status, class, and the message that a
 * service sends.
 */

/** How a job reacts to codes of this class; see `docs/errors.md`. */
export type ErrorClass =
  /** The request is wrong and stays wrong: the job fails at once. */
  | 'caller'
  /** The input or the format pair is wrong: the job fails at once. */
  | 'input'
  /** The account does not allow it: the job fails at once and says what to change. */
  | 'account'
  /** The balance is empty: the job parks. */
  | 'credits'
  /** Too many requests: the job waits the full RETRY-AFTER. */
  | 'rate'
  /** The service has lost an earlier step of the job: the job uploads again, once, if the source is a file. */
  | 'chain'
  /** The download link has expired: the job requests a new one. */
  | 'expired'
  /** The service failed. A completed task with this error was not charged, so it may be submitted again. */
  | 'server';

export interface ErrorCodeRow {
  readonly httpStatus: number;
  readonly class: ErrorClass;
  /** The message that a service sends; `[NAME]` stands for the offending key, field or parameter. */
  readonly message: string;
  /** The task was not run, so the same request can be sent again without a second charge. */
  readonly provesNothingRan: boolean;
  /** The service refuses the account or the app rather than this request: the next file would be refused as well. */
  readonly refusesAccount?: true;
  /** Remedy for the user; `[APP]` stands for the app. Absent if the job recovers without one. */
  readonly advice?: string;
}

const checkBaseUrl = "Check that the base URL of app [APP] is the service's (`fileconv config show`).";
const checkFile = 'Check the file, or choose another format (`fileconv formats`).';

/** Remedies for the errors of a class: for one job, unless it recovers without one, and for the files of a batch. */
export const errorClasses: Readonly<Record<ErrorClass, { what: string; advice?: string; adviceOfBatch: string }>> = {
  caller: {
    what: 'The service refused the request',
    advice: "Correct the job's input and start it again.",
    adviceOfBatch: 'Correct the row of the manifest, or the option, that the message names.',
  },
  input: {
    what: "The service can't convert this file to this format",
    advice: checkFile,
    adviceOfBatch: checkFile,
  },
  account: {
    what: 'The account or the app does not allow it',
    advice: 'Check the account, the App ID and the token of app [APP] (`fileconv config show`).',
    adviceOfBatch: 'Check the account, the App ID and the token of the app profile (`fileconv config show`).',
  },
  credits: {
    what: 'The account had too few vCredits until the deadline of parked jobs',
    advice: 'Add vCredits to the account of app [APP].',
    adviceOfBatch:
      "Add vCredits to the app's account. Next time, jobs that still wait continue at once with `fileconv app ready`.",
  },
  rate: {
    what: 'The limit of requests held the job up for too long',
    adviceOfBatch: 'Try again later, or with a smaller window.',
  },
  chain: {
    what: 'The service no longer had an earlier step of the job',
    advice: 'The service no longer has the upload: start the job again from the file.',
    adviceOfBatch: 'Try again: the file is uploaded again.',
  },
  expired: {
    what: 'The converted file had expired at the service before it was fetched',
    adviceOfBatch: 'Try again: the file is converted again, and charged again.',
  },
  server: {
    what: 'The service failed, also when it was asked again',
    advice: "Try again later; if it goes on, tell the service's operator.",
    adviceOfBatch:
      'Failed conversions are not charged. Try again later; if it is always the same files, tell whoever runs the service.',
  },
};
/** For codes that are not listed. */
export const adviceOfOthers = "The code is not a documented one: ask the service's operator.";

function row(httpStatus: number, errorClass: ErrorClass, message: string, provesNothingRan = true): ErrorCodeRow {
  const { advice } = errorClasses[errorClass];
  return { httpStatus, class: errorClass, message, provesNothingRan, ...(advice !== undefined && { advice }) };
}

function advised(advice: string, given: ErrorCodeRow): ErrorCodeRow {
  return { ...given, advice };
}

function accountRow(httpStatus: number, message: string): ErrorCodeRow {
  return { ...row(httpStatus, 'account', message), refusesAccount: true };
}

const table = {
  // The document, "Errors".
  INVALID_DATA_KEY: row(400, 'caller', 'The data key [NAME] is invalid.'),
  INVALID_FIELD: row(400, 'caller', 'The field [NAME] is invalid.'),
  INVALID_PARAMETER: row(400, 'caller', 'The parameter [NAME] is invalid.'),
  MISMATCH_DEPENDENT_TASK: row(400, 'chain', 'The task the connector refers to does not match the current task.'),
  MISMATCH_VERSION_DEPENDENT_TASK: advised(
    checkBaseUrl,
    row(400, 'caller', 'The API version of the dependent task differs from that of the current task.'),
  ),
  MISSING_REQUIRED_DATA_KEY: row(400, 'caller', 'The data key [NAME] is required.'),
  MISSING_REQUIRED_FIELD: row(400, 'caller', 'The field [NAME] is required.'),
  MISSING_REQUIRED_PARAMETER: row(400, 'caller', 'The parameter [NAME] is required.'),
  WRONG_TYPE_DATA_KEY: row(400, 'caller', 'The data key [NAME] has the wrong type.'),
  WRONG_TYPE_FIELD: row(400, 'caller', 'The field [NAME] has the wrong type.'),
  WRONG_TYPE_PARAMETER: row(400, 'caller', 'The parameter [NAME] has the wrong type.'),
  WRONG_VALUE_DATA_KEY: row(400, 'caller', 'The data key [NAME] has the wrong value.'),
  WRONG_VALUE_PARAMETER: row(400, 'caller', 'The parameter [NAME] has the wrong value.'),
  FREE_PLAN_DISALLOWED: accountRow(403, 'A premium plan must be active.'),
  INSUFFICIENT_VCREDITS: row(403, 'credits', 'Not enough vCredits to run the task.'),
  ONLY_DEVELOPMENT_REQUEST: row(403, 'account', 'In development only files with a registered hash are allowed.'),
  DOWNLOAD_EXPIRED: row(404, 'expired', 'The download of this converted file has expired.'),
  FILE_NOT_EXISTS: row(404, 'chain', 'The [NAME] file does not exist.'),
  NOT_FOUND: advised(checkBaseUrl, row(404, 'caller', 'The API endpoint does not exist.')),
  NOT_READY_DEPENDENT_TASK: row(404, 'chain', 'The dependent task has not completed correctly.'),
  NO_CONNECTOR_DEPENDENT_TASK: row(404, 'chain', 'The connector does not belong to any other task.'),
  POST_METHOD_ALLOWED: advised(checkBaseUrl, row(405, 'caller', 'Only POST is allowed.')),
  TOO_MANY_REQUESTS: row(429, 'rate', 'Rate limit exceeded; retry after [NAME] seconds.'),
  INTERNAL_SERVER_ERROR: row(500, 'server', 'Unexpected server failure.', false),
  // Beyond the document: authentication.
  MISSING_AUTHORIZATION_HEADER: accountRow(403, 'The Authorization header is missing.'),
  INVALID_AUTHORIZATION_HEADER: accountRow(403, 'The Authorization header must be of the form Bearer <APP_TOKEN>.'),
  INVALID_CREDENTIAL: accountRow(403, 'The app token or the App ID is not valid.'),
  DISABLED_FOR_FREE_APP: accountRow(403, 'This endpoint is disabled for the free app.'),
  FREE_APP_LIMITED: row(429, 'rate', 'The daily limit of the free app is reached; retry in [NAME] hours.'),
  // Beyond the document: uploads, whose errors have HTTP status 200.
  EMPTY_FILE: row(200, 'input', 'The uploaded file is empty.'),
  LIMIT_UPLOAD_SIZE: row(200, 'input', 'The uploaded file is larger than [NAME] KB.'),
  NOT_VALID_EXTENSION: row(200, 'input', 'The file extension [NAME] is not supported.'),
  ONLY_DEVELOPMENT_FILE: row(200, 'account', 'In development only files with a registered hash are allowed.'),
  // Beyond the document: format queries, also with HTTP status 200.
  INVALID_FORMAT: row(200, 'input', 'The format [NAME] is not known.'),
  WRONG_FORMAT_STRUCTURE: row(200, 'input', 'The format [NAME] is not of the form format or format-type.'),
  // Beyond the document: conversion; the HTTP status is not known.
  FAILED_CONVERT: row(200, 'input', 'The file could not be converted.'),
  INVALID_INPUT_FORMAT: row(200, 'input', 'The input format [NAME] is not known.'),
  INVALID_OUTPUT_FORMAT: row(200, 'input', 'The output format [NAME] is not known.'),
  NOT_MATCH_EXTENSION_AND_INPUT: row(200, 'input', 'The file extension does not match the input format [NAME].'),
  NO_CONVERTER_INPUT_TO_OUTPUT: row(200, 'input', 'There is no converter for [NAME].'),
  WRONG_INPUT_FORMAT_STRUCTURE: row(200, 'input', 'The input format [NAME] is not of the form format or format-type.'),
  WRONG_OUTPUT_FORMAT_STRUCTURE: row(
    200,
    'input',
    'The output format [NAME] is not of the form format or format-type.',
  ),
  // Beyond the document: callbacks.
  INVALID_CALLBACK: advised(
    "Check the callback receiver's public URL (`fileconv config show`).",
    row(400, 'caller', 'The callback is not a valid URL.'),
  ),
  UNVERIFIED_DOMAIN_CALLBACK: advised(
    "Have the domain of the callback receiver's public URL verified for app [APP].",
    accountRow(400, 'The domain of the callback is not verified for the app.'),
  ),
} satisfies Record<string, ErrorCodeRow>;

/** A code in the table. A service may send others, which are kept verbatim. */
export type KnownErrorCode = keyof typeof table;

export const errorCodes: Readonly<Record<KnownErrorCode, ErrorCodeRow>> = table;

/** Undefined if the code is not listed. */
export function lookUpErrorCode(code: string): ErrorCodeRow | undefined {
  return Object.hasOwn(table, code) ? table[code as KnownErrorCode] : undefined;
}

/** The message of a code with its placeholder filled in. */
export function errorMessage(code: KnownErrorCode, name = ''): string {
  return errorCodes[code].message.replace('[NAME]', name);
}
