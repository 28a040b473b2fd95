import { lookUpErrorCode } from 'temporal-file-conversion/contract';
import type { ConversionApiError } from 'temporal-file-conversion/http';
import { shellWord } from 'temporal-file-conversion/messages';
import { CommandError } from '../command-error';

/** What a person can do about a failed request; undefined for failures that may pass: a busy service, a time-out. */
export function explainServiceFailure(
  error: ConversionApiError,
  { app, baseUrl }: { app: string; baseUrl: string },
): CommandError | undefined {
  const tell = (code: 'SERVICE_UNREACHABLE' | 'SERVICE_UNUSABLE' | 'ACCOUNT_REFUSED', problem: string) =>
    new CommandError(code, [problem], { cause: error });
  const { code, message } = error;
  if (code === 'SERVICE_UNREACHABLE') {
    return tell(
      'SERVICE_UNREACHABLE',
      `The conversion service of app ${app} can't be reached at ${baseUrl}. Start it (\`fileconv up\` runs the embedded one), or correct the app's base_url (\`fileconv config show\`).`,
    );
  }
  if (code === 'UNREADABLE_RESPONSE' || isPageNotThere(error)) {
    const next = `Is ${baseUrl} a conversion service? Check base_url of app ${app} (\`fileconv config show\`).`;
    return tell('SERVICE_UNUSABLE', `${message} ${next}`);
  }
  if (lookUpErrorCode(code)?.class === 'account') {
    return tell(
      'ACCOUNT_REFUSED',
      `${message} Check the App ID and the token of app ${app} (\`fileconv config show\`).`,
    );
  }
  return undefined;
}

/** The warning about a request that was not answered in time; undefined for any other failure. */
export function explainSilence(
  error: ConversionApiError,
  { app, baseUrl }: { app: string; baseUrl: string },
): string | undefined {
  if (error.code !== 'REQUEST_TIMEOUT') return undefined;
  return `The conversion service of app ${app} does not answer the question about formats (${baseUrl}); conversions wait until it answers. What is broken: fileconv doctor --app ${shellWord(app)}`;
}

/** A web server that is no conversion service answers with a bare status, without an error of the API. */
function isPageNotThere({ code, httpStatus = 0 }: ConversionApiError): boolean {
  return code === `HTTP_${httpStatus}` && httpStatus >= 400 && httpStatus < 500 && ![408, 429].includes(httpStatus);
}
