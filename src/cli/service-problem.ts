import { lookUpErrorCode } from '../api/error-codes';
import type { ConversionApiError } from '../api/errors';
import { CommandError } from './command-error';

/** What a person can do about a failed request; undefined for one that says nothing about the next: a busy service, a time-out. */
export function explainServiceFailure(
  error: ConversionApiError,
  { app, baseUrl }: { app: string; baseUrl: string },
): CommandError | undefined {
  const options = { cause: error };
  if (error.code === 'SERVICE_UNREACHABLE') {
    return new CommandError(
      'SERVICE_UNREACHABLE',
      [
        `The conversion service of app ${app} can't be reached at ${baseUrl}. Start it (\`fileconv up\` runs the embedded one), or correct the app's base_url (\`fileconv config show\`).`,
      ],
      options,
    );
  }
  if (error.code === 'UNREADABLE_RESPONSE' || isPageNotThere(error)) {
    return new CommandError(
      'SERVICE_UNUSABLE',
      [`${error.message} Is ${baseUrl} a conversion service? Check base_url of app ${app} (\`fileconv config show\`).`],
      options,
    );
  }
  if (lookUpErrorCode(error.code)?.class === 'account') {
    return new CommandError(
      'ACCOUNT_REFUSED',
      [`${error.message} Check the App ID and the token of app ${app} (\`fileconv config show\`).`],
      options,
    );
  }
  return undefined;
}

/** A web server that is no conversion service answers with a status of its own, and without the document's error. */
function isPageNotThere({ code, httpStatus = 0 }: ConversionApiError): boolean {
  return code === `HTTP_${httpStatus}` && httpStatus >= 400 && httpStatus < 500 && ![408, 429].includes(httpStatus);
}
