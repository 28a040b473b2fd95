import { type ErrorClass, lookUpErrorCode } from '../../contract/error-codes';

/** What an error code means to the user of a batch, and what to do before a retry. Commands are in backticks. */
export interface Advice {
  readonly what: string;
  readonly toDo: string;
}

/** By the code, if there is specific advice for it, else by its class. */
export function adviceOn(code: string): Advice {
  const own = Object.hasOwn(byCode, code) ? byCode[code] : undefined;
  if (own) return own;
  const known = lookUpErrorCode(code);
  if (known) return byClass[known.class];
  if (/^HTTP_\d+$/.test(code)) return notTheService;
  return unknown;
}

const unknown: Advice = {
  what: 'An error that this version does not know',
  toDo: 'The message below is told as it came. Look at one of the jobs in the Temporal UI before trying again.',
};

const empty: Advice = {
  what: 'The file is empty',
  toDo: 'Put the whole file in its place, or take it out of the batch.',
};
const token: Advice = {
  what: "The service did not accept the app's token",
  toDo: 'Correct App ID and token of the app profile (`fileconv config show` tells where they come from). A worker reads a new token file by itself; for anything else restart it.',
};
const development: Advice = {
  what: 'The app is in development mode, where only registered files are converted',
  toDo: 'Switch the app to production, or register the hashes of these files with it.',
};
const plan: Advice = {
  what: "The account's plan does not allow it",
  toDo: 'Activate a premium plan, or run the batch with the app profile of another account.',
};
const credits: Advice = {
  what: 'The account had too few vCredits until the credits deadline',
  toDo: "Add vCredits to the app's account. Next time, jobs that still wait go on at once with `fileconv credits restored`.",
};
const notTheService: Advice = {
  what: 'Something other than the conversion service answered',
  toDo: 'Check the base URL of the app profile (`fileconv config show`) and whatever stands between: a proxy, a gateway, a login page.',
};
const connection: Advice = {
  what: 'The service could not be reached, or did not answer',
  toDo: 'Check the network and the base URL of the app profile (`fileconv config show`), then try again.',
};
const formatName: Advice = {
  what: "A format's name is not well formed",
  toDo: 'Write it as `format` or `format-type`, for example `txt-markdown`; `fileconv formats` lists them.',
};
const changed: Advice = {
  what: 'The file changed while it was read',
  toDo: 'Wait until nothing writes to it any more.',
};
const slow: Advice = {
  what: 'A deadline passed before the step was done',
  toDo: 'The message tells what held it up. Once that is mended try again, or give the jobs longer deadlines.',
};
const lostBytes: Advice = {
  what: 'The converted file did not arrive whole',
  toDo: 'Try again; the conversion itself had succeeded, and is then run and charged a second time.',
};

function unknownFormat(term: string): Advice {
  return { what: `The service does not know the ${term}`, toDo: 'Choose one that `fileconv formats` lists.' };
}

const byClass: Readonly<Record<ErrorClass, Advice>> = {
  caller: {
    what: 'The service refused the request',
    toDo: 'Correct the row of the manifest, or the option, that the message names.',
  },
  input: {
    what: "The service can't convert this file to this format",
    toDo: 'Check the file, or choose another format (`fileconv formats`).',
  },
  account: {
    what: 'The account or the app does not allow it',
    toDo: 'Check the account, the App ID and the token of the app profile (`fileconv config show`).',
  },
  credits,
  rate: {
    what: 'The limit of requests held the job up for too long',
    toDo: 'Try again later, or with a smaller window.',
  },
  chain: {
    what: 'The service no longer had an earlier step of the job',
    toDo: 'Try again: the file is uploaded anew.',
  },
  expired: {
    what: 'The converted file had expired at the service before it was fetched',
    toDo: 'Try again: the file is converted anew, and charged again.',
  },
  server: {
    what: 'The service failed, also when it was asked again',
    toDo: 'Failed conversions are not charged. Try again later; if it is always the same files, tell whoever runs the service.',
  },
};

const byCode: Readonly<Record<string, Advice>> = {
  // The file and its formats.
  EMPTY_FILE: empty,
  FAILED_CONVERT: {
    what: 'The service could not convert the file',
    toDo: 'Open the file: it may be damaged, protected by a password, or of another format than its name says. Mend it or save it anew.',
  },
  INVALID_FORMAT: unknownFormat('format'),
  INVALID_INPUT_FORMAT: unknownFormat('input format'),
  INVALID_OUTPUT_FORMAT: unknownFormat('target format'),
  LIMIT_UPLOAD_SIZE: {
    what: 'The file is larger than the service takes',
    toDo: 'Make it smaller or split it; the message names the limit.',
  },
  NOT_MATCH_EXTENSION_AND_INPUT: {
    what: "The file's extension contradicts the input format",
    toDo: 'Rename the file, or correct the input format of its row.',
  },
  NOT_VALID_EXTENSION: {
    what: "The service does not know the file's extension",
    toDo: 'Give the file the extension of its format; `fileconv formats` lists those that are known.',
  },
  NO_CONVERTER_INPUT_TO_OUTPUT: {
    what: 'There is no conversion between these two formats',
    toDo: 'Choose another target format; `fileconv formats` shows which go together.',
  },
  WRONG_FORMAT_STRUCTURE: formatName,
  WRONG_INPUT_FORMAT_STRUCTURE: formatName,
  WRONG_OUTPUT_FORMAT_STRUCTURE: formatName,

  // The account.
  DISABLED_FOR_FREE_APP: plan,
  FREE_PLAN_DISALLOWED: plan,
  INVALID_AUTHORIZATION_HEADER: token,
  INVALID_CREDENTIAL: token,
  MISSING_AUTHORIZATION_HEADER: token,
  TOKEN_UNREADABLE: {
    what: "The app's token could not be read",
    toDo: 'Put it where the app profile says (`fileconv config show`), readable by the user that the worker runs as.',
  },
  ONLY_DEVELOPMENT_FILE: development,
  ONLY_DEVELOPMENT_REQUEST: development,
  UNVERIFIED_DOMAIN_CALLBACK: {
    what: 'The domain of the callback URL is not verified for the app',
    toDo: 'Verify it at the service, or take the callback URL out of the configuration: jobs then poll.',
  },
  CREDITS_DEADLINE: credits,

  // The connection to the service.
  SERVICE_UNREACHABLE: connection,
  CONNECTION_LOST: connection,
  REQUEST_TIMEOUT: connection,
  UNREADABLE_RESPONSE: notTheService,
  JOB_LOST: {
    what: 'Temporal no longer knows the job',
    toDo: 'Its conversion may have been charged. Look at the service; `fileconv batch retry` with --resubmit converts all the same.',
  },
  OUTCOME_UNKNOWN: {
    what: 'Nobody knows whether the conversion ran',
    toDo: "Look at the service's list of tasks. Where one ran, trying again converts and charges it a second time.",
  },
  UNKNOWN_OUTPUT_STATUS: {
    what: 'The service ended the conversion with a status that this version does not know',
    toDo: 'The message names it. Look at the task at the service before trying again.',
  },
  RATE_LIMIT_WAIT: byClass.rate,
  SLOTS_TAKEN: {
    what: 'The other jobs of the app held their share of the worker all the time',
    toDo: 'Look at why the service takes so long, or give the worker more slots (`worker.max_concurrent_activities`), then try again.',
  },
  UPLOAD_DEADLINE: slow,
  SUBMIT_DEADLINE: slow,
  CONVERSION_DEADLINE: slow,
  DOWNLOAD_DEADLINE: slow,

  // Local files.
  FILE_CHANGED: changed,
  SOURCE_CHANGED: changed,
  SOURCE_NOT_FOUND: {
    what: 'There is no such file',
    toDo: 'Put the file there, or correct its row; the worker must see it under the same path.',
  },
  SOURCE_EMPTY: empty,
  SOURCE_IS_DIRECTORY: { what: 'The source is a folder', toDo: 'Name the files in it instead.' },
  SOURCE_UNREADABLE: {
    what: 'The worker may not read the file',
    toDo: 'Let the user that the worker runs as read the file and the folders above it.',
  },
  DESTINATION_EXISTS: {
    what: 'Something stands where the result was to go',
    toDo: 'Move it away, or run the batch with `--on-existing skip`, `overwrite` or `rename`.',
  },
  DESTINATION_IS_SOURCE: {
    what: 'The result would replace its own source',
    toDo: 'Choose another destination for the row.',
  },
  DESTINATION_IS_DIRECTORY: {
    what: 'A folder stands where the result was to go',
    toDo: 'Move it away, or choose another destination.',
  },
  DESTINATION_NOT_WRITABLE: {
    what: 'The worker may not write there',
    toDo: 'Let the user that the worker runs as write to the folder, or choose another destination.',
  },
  DESTINATION_NOT_SHARED: {
    what: 'The workers do not share the folder of the result',
    toDo: 'Share it between their machines under the same path, or run workers on one of them only.',
  },
  DESTINATION_FULL: {
    what: 'The disk is full',
    toDo: 'Make room, or choose a destination on another disk. They waited for room until the download deadline.',
  },
  SIZE_MISMATCH: lostBytes,
  TEMPORARY_FILE_LOST: lostBytes,
  STORAGE_FAILED: {
    what: 'The file system failed',
    toDo: 'The message tells how. Check the disk or the network share, then try again.',
  },
  UNSUPPORTED_URI: {
    what: 'The worker has no store for the address, or may not use it',
    toDo: 'The message tells why. Give the worker a store for such URIs, allow the host, or copy the file to where it can be read.',
  },

  // The job itself.
  UNKNOWN_APP: {
    what: 'The worker has no app profile of this name',
    toDo: "Add the profile to the worker's configuration (`fileconv config show`) and restart it, or name another with `--app`.",
  },
  INVALID_JOB: byClass.caller,
  INVALID_REQUEST: byClass.caller,
  CANCELLED: {
    what: 'Somebody cancelled the job',
    toDo: 'Its page in the Temporal UI shows when. If that was not meant, try again.',
  },
  TERMINATED: {
    what: 'Somebody terminated the job',
    toDo: 'Its page in the Temporal UI shows who and why. If it had been submitted, trying again may be charged again.',
  },
  TIMED_OUT: {
    what: 'The job met a time-out of its workflow',
    toDo: 'Try again; whoever started the jobs had set that time-out.',
  },
  UNEXPECTED: {
    what: "A defect of this program, or of the worker's surroundings",
    toDo: "The worker's log has the details; please report them. Then try again.",
  },
};
