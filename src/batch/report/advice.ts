import { errorClasses, lookUpErrorCode, type ErrorClass } from '../../contract/error-codes';

/** What an error code means to the user of a batch, and what to do before a retry. Commands are in backticks. */
export interface Advice {
  readonly what: string;
  readonly toDo: string;
}

/** By the code, if there is specific advice for it, else by its class. */
export function adviceOn(code: string): Advice {
  const specific = advice.get(/^HTTP_\d+$/.test(code) ? 'UNREADABLE_RESPONSE' : code);
  const errorClass = lookUpErrorCode(code)?.class ?? classOfOurs.get(code);
  if (specific || errorClass === undefined) return specific ?? unknown;
  const { what, adviceOfBatch: toDo } = errorClasses[errorClass];
  return { what, toDo };
}

/** Our codes that belong to a class of the document's. */
const classOfOurs = new Map<string, ErrorClass>([
  ['INVALID_JOB', 'caller'],
  ['INVALID_REQUEST', 'caller'],
  ['RATE_LIMIT_WAIT', 'rate'],
]);

const unknown: Advice = {
  what: 'An error that this version does not know',
  toDo: 'The message below is the original one. Look at one of the jobs in the Temporal UI before trying again.',
};

/** Codes | what they mean | what to do. */
const table = [
  'EMPTY_FILE SOURCE_EMPTY | The file is empty | Put the whole file in its place, or take it out of the batch.',
  'FAILED_CONVERT | The service could not convert the file | Open the file: it may be damaged, protected by a password, or of another format than its name says. Repair it or save it again.',
  'INVALID_FORMAT | The service does not know the format | Choose one that `fileconv formats` lists.',
  'INVALID_INPUT_FORMAT | The service does not know the input format | Choose one that `fileconv formats` lists.',
  'INVALID_OUTPUT_FORMAT | The service does not know the target format | Choose one that `fileconv formats` lists.',
  'LIMIT_UPLOAD_SIZE | The file is larger than the service accepts | Make it smaller or split it; the message names the limit.',
  "NOT_MATCH_EXTENSION_AND_INPUT | The file's extension contradicts the input format | Rename the file, or correct the input format of its row.",
  "NOT_VALID_EXTENSION | The service does not know the file's extension | Give the file the extension of its format; `fileconv formats` lists those that are known.",
  'NO_CONVERTER_INPUT_TO_OUTPUT | There is no conversion between these two formats | Choose another target format; `fileconv formats` shows which go together.',
  "WRONG_FORMAT_STRUCTURE WRONG_INPUT_FORMAT_STRUCTURE WRONG_OUTPUT_FORMAT_STRUCTURE | A format's name is not well formed | Write it as `format` or `format-type`, for example `txt-markdown`; `fileconv formats` lists them.",
  "DISABLED_FOR_FREE_APP FREE_PLAN_DISALLOWED | The account's plan does not allow it | Activate a premium plan, or run the batch with the app profile of another account.",
  "INVALID_AUTHORIZATION_HEADER INVALID_CREDENTIAL MISSING_AUTHORIZATION_HEADER | The service did not accept the app's token | Correct App ID and token of the app profile (`fileconv config show` tells where they come from). A worker reads a new token file by itself; for anything else restart it.",
  "TOKEN_UNREADABLE | The app's token could not be read | Put it where the app profile says (`fileconv config show`), readable by the user that the worker runs as.",
  'ONLY_DEVELOPMENT_FILE ONLY_DEVELOPMENT_REQUEST | The app is in development mode, where only registered files are converted | Switch the app to production, or register the hashes of these files with it.',
  'UNVERIFIED_DOMAIN_CALLBACK | The domain of the callback URL is not verified for the app | Verify it at the service, or take the callback URL out of the configuration: jobs then poll.',
  'SERVICE_UNREACHABLE CONNECTION_LOST REQUEST_TIMEOUT | The service could not be reached, or did not answer | Check the network and the base URL of the app profile (`fileconv config show`), then try again.',
  'UNREADABLE_RESPONSE | Something other than the conversion service answered | Check the base URL of the app profile (`fileconv config show`) and whatever stands between: a proxy, a gateway, a login page.',
  'JOB_LOST | Temporal no longer knows the job | Its conversion may have been charged. Look at the service; `fileconv batch retry` with --resubmit converts all the same.',
  "OUTCOME_UNKNOWN | Nobody knows whether the conversion ran | Look at the service's list of tasks. Where one ran, trying again converts and charges it a second time.",
  'UNKNOWN_OUTPUT_STATUS | The service ended the conversion with a status that this version does not know | The message names it. Look at the task at the service before trying again.',
  'SLOTS_TAKEN | The other jobs of the app held their share of the worker all the time | Look at why the service takes so long, or give the worker more slots (`worker.max_concurrent_activities`), then try again.',
  'UPLOAD_DEADLINE SUBMIT_DEADLINE CONVERSION_DEADLINE DOWNLOAD_DEADLINE | A deadline passed before the step was done | The message says what held it up. Once that is fixed try again, or give the jobs longer deadlines.',
  'FILE_CHANGED SOURCE_CHANGED | The file changed while it was read | Wait until nothing writes to it any more.',
  'SOURCE_NOT_FOUND | There is no such file | The message says what is missing. Put it there, or correct the row; the worker must see it under the same path or URI.',
  'SOURCE_IS_DIRECTORY | The source is a folder | Name the files in it instead.',
  'SOURCE_UNREADABLE | The worker may not read the file | The message says why. Let the user or the credentials of the worker read the file, and the folders above it.',
  'SOURCE_PROTECTED | The file opens only with a password or a certificate | Put a copy without one in its place. Nothing was sent to the service.',
  'RESULT_SUSPECT | The result has not passed its check, and is delivered beside its destination, its name with .suspect behind it | Look at it. If it is good, give it its name; else repair the file, or convert it again, and pay again: `batch retry --again` (`batch run --again` converts and pays for all files).',
  'CHECK_UNAVAILABLE | The worker cannot do the check that was asked for | The message says what it needs. Nothing was sent.',
  'CHECK_NOT_RUN | The program that looks at results could not be run to its end | The message says why. Once that is mended try again: the result is fetched, and not converted again.',
  'DESTINATION_EXISTS | Something stands where the result was to go | Move it away, or run the batch with `--on-existing skip`, `overwrite` or `rename`.',
  'DESTINATION_TAKEN | The place of the result is that of another row, or of a job that converts something else | The message says whose. Choose another destination for one of them, or wait for the job.',
  'DESTINATION_INVALID DESTINATION_OUTSIDE | The row names no usable place for its result | The message says why. Correct the row, or choose another --out.',
  "ROW_INVALID | The row can't be read | The message says its line. Correct it.",
  'SOURCE_REPEATED | Another row converts the same file in the same way | The message says which. Remove one of the two.',
  'RESULT_GONE | The file was converted before, and neither its place nor the service has the result any more | To convert it again, and pay again, run it with `--again`.',
  'DESTINATION_IS_SOURCE | The result would replace its own source | Choose another destination for the row.',
  'DESTINATION_IS_DIRECTORY | A folder stands where the result was to go | Move it away, or choose another destination.',
  'DESTINATION_NOT_WRITABLE | The worker may not write there | The message says why. Let the user or the credentials of the worker write there, or choose another destination.',
  'DESTINATION_NOT_SHARED | The workers do not share the folder of the result | Share it between their machines under the same path, or run workers on one of them only.',
  'DESTINATION_FULL | There is no room for the result | Make room, or choose a destination elsewhere. They waited for room until `parked_deadline`.',
  'SIZE_MISMATCH TEMPORARY_FILE_LOST | The converted file did not arrive whole | Try again: the result is fetched once more, and nothing is converted while the service has it.',
  'STORAGE_FAILED | The file system or the object store failed | The message says how. Check the disk, the network share or the store, then try again.',
  'UNSUPPORTED_URI | The worker has no store for the address, or may not use it | The message says why. Give the worker a store for such URIs, allow the host, or copy the file to where it can be read.',
  "UNKNOWN_APP | The worker has no app profile of this name | Add the profile to the worker's configuration (`fileconv config show`) and restart it, or name another with `--app`.",
  'CANCELLED | Somebody cancelled the job | Its page in the Temporal UI shows when. If that was not meant, try again.',
  'TERMINATED | Somebody terminated the job | Its page in the Temporal UI shows who and why. If it had been submitted, trying again may be charged again.',
  'TIMED_OUT | The job met a time-out of its workflow | Try again; whoever started the jobs had set that time-out.',
  "UNEXPECTED | A defect of this program, or of the worker's surroundings | The worker's log has the details; please report them. Then try again.",
];

const advice: ReadonlyMap<string, Advice> = new Map(
  table.flatMap((line) => {
    const [keys = '', what = '', toDo = ''] = line.split(' | ');
    return keys.split(' ').map((key) => [key, { what, toDo }] as const);
  }),
);
