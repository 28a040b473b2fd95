import { randomUUID } from 'node:crypto';
import { lookUpErrorCode } from 'temporal-file-conversion/contract';
import { ConversionApiError } from 'temporal-file-conversion/http';
import { proxyFor } from 'temporal-file-conversion/network';
import type { CommandContext } from '../command-context';
import { openApi } from '../service/app-profiles';
import { explainServiceFailure } from '../service/service-problem';
import { broken, brokenBy, ok, reasonOf, type PartFinding } from './finding';

const configShow = 'fileconv config show';

/** Whether an app's service answers and accepts the token. Sends one request, for a task that does not exist. */
export async function checkService(context: CommandContext, app: string): Promise<PartFinding> {
  const part = `service of app ${app}`;
  let opened: Awaited<ReturnType<typeof openApi>>;
  try {
    opened = await openApi(context, app);
  } catch (error) {
    return brokenBy(part, error, `Correct the app's profile: ${configShow}`);
  }
  const baseUrl = opened.baseUrl + throughProxy(context, opened.baseUrl);
  try {
    await opened.api.taskResponse({ connector: randomUUID() });
  } catch (error) {
    if (!(error instanceof ConversionApiError)) throw error;
    if (!provesAccount(error)) return describe(part, error, { app, baseUrl });
  } finally {
    await opened.api.close();
  }
  return ok(part, `${baseUrl} answers and accepts the token`);
}

/** That it knows no such task proves that it knows the app and its token; `NOT_FOUND` means that the address is wrong. */
function provesAccount(error: ConversionApiError): boolean {
  const errorClass = lookUpErrorCode(error.code)?.class;
  return errorClass === 'chain' || (errorClass === 'caller' && error.code !== 'NOT_FOUND' && !isAboutApp(error));
}

/** A malformed App ID is refused before the token is checked. */
function isAboutApp({ code, message }: ConversionApiError): boolean {
  return code.endsWith('_DATA_KEY') && /\bdata key app\b/i.test(message);
}

function describe(part: string, error: ConversionApiError, where: { app: string; baseUrl: string }): PartFinding {
  const { app, baseUrl } = where;
  if (error.httpStatus === 429) {
    const wait = error.retryAfterSeconds === undefined ? '' : `; it asks to wait ${error.retryAfterSeconds} s`;
    const cure = 'Jobs wait by themselves. If it stays so: fewer workers, or a higher limit at the service.';
    return broken(part, `${baseUrl} turns requests away (429)${wait}`, cure);
  }
  const isOfAccount = isAboutApp(error) || error.httpStatus === 401 || error.httpStatus === 403;
  const explained = explainServiceFailure(error, where);
  if (explained && !isOfAccount) return brokenBy(part, explained, configShow);
  const cure = isOfAccount
    ? `Check the App ID and the token of app ${app}: ${configShow}`
    : `Is ${baseUrl} a conversion service? Check base_url of app ${app} (${configShow}), and the service's own state.`;
  return broken(part, reasonOf(error), cure);
}

/** Only its host: a proxy's URL may hold a password. */
function throughProxy({ env }: CommandContext, url: string): string {
  const proxy = proxyFor(new URL(url), env);
  return proxy ? ` (through the proxy ${proxy.host}, which the environment names)` : '';
}
