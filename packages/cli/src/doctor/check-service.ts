import { randomUUID } from 'node:crypto';
import { endpoints, lookUpErrorCode } from 'temporal-file-conversion/contract';
import { createServiceAddress } from 'temporal-file-conversion/internal/http/address';
import { findRefusal, parseJson } from 'temporal-file-conversion/internal/http/answer';
import { frameData } from 'temporal-file-conversion/internal/http/multipart';
import { createQuote } from 'temporal-file-conversion/internal/http/quote';
import { readRateHeaders, type RateHeaders } from 'temporal-file-conversion/internal/http/rate-limit/headers';
import { createAgent, proxyFor } from 'temporal-file-conversion/internal/network/proxy';
import { request } from 'undici';
import type { CommandContext } from '../command-context';
import { readProfile, type ServiceProfile } from '../service/app-profiles';
import { explainServiceFailure } from '../service/service-problem';
import { broken, brokenBy, compareClocks, ok, reasonOf, skipped, type Finding } from './finding';

const configShow = 'fileconv config show';

/** Whether an app's service answers and accepts the token, and its rate limit. Sends one request, for a task that does not exist. */
export async function checkService(context: CommandContext, app: string): Promise<Finding[]> {
  const [part, limit, clock] = [`service of app ${app}`, `rate limit of app ${app}`, `clock beside service of ${app}`];
  const others = (why: string) => [skipped(limit, why), skipped(clock, why)];
  let profile: ServiceProfile;
  try {
    profile = await readProfile(context, app);
  } catch (error) {
    return [brokenBy(part, error, `Correct the app's profile: ${configShow}`), ...others('needs the profile')];
  }
  const { token } = profile;
  const baseUrl = profile.baseUrl + throughProxy(context, profile.baseUrl);
  let answer: Awaited<ReturnType<typeof ask>>;
  try {
    answer = await ask(context, profile);
  } catch (error) {
    const cure = `Start it (fileconv up runs the embedded one), or correct base_url of app ${app}: ${configShow}`;
    return [broken(part, `${baseUrl} can't be reached: ${reasonOf(error)}`, cure), ...others('needs the service')];
  }
  const { raw, oursMs } = answer;
  const rate = readRateHeaders(raw.httpStatus, raw.headers);
  const date = Date.parse(String(raw.headers['date']));
  const found = [
    describeLimit(limit, rate),
    Number.isNaN(date) ? skipped(clock, 'the service does not tell') : compareClocks(clock, { theirsMs: date, oursMs }),
  ];
  const refusal = findRefusal(raw, parseJson(raw.text), createQuote({ known: [token] }));
  const errorClass = refusal && lookUpErrorCode(refusal.code)?.class;
  // That it knows no such task proves that it knows the app and its token.
  if (refusal && (isAboutApp(refusal) || !isAboutTask(refusal.code)) && errorClass !== 'rate') {
    const explained = explainServiceFailure(refusal, { app, baseUrl });
    const cure =
      errorClass === 'account' || isAboutApp(refusal) || raw.httpStatus === 401 || raw.httpStatus === 403
        ? `Check the App ID and the token of app ${app}: ${configShow}`
        : `Is ${baseUrl} a conversion service? Check base_url of app ${app} (${configShow}), and the service's own state.`;
    return [
      broken(part, explained?.cause instanceof Error ? explained.cause.message : refusal.message, cure),
      ...found,
    ];
  }
  if (!refusal && typeof parseJson(raw.text) !== 'object') {
    const cure = `Check base_url of app ${app}: ${configShow}`;
    return [broken(part, `${baseUrl} answers, but not as a conversion service does`, cure), ...found];
  }
  return [ok(part, `${baseUrl} answers and accepts the token`), ...found];
}

/** `NOT_FOUND` means that the address is wrong; each of the others, that the request was understood. */
function isAboutTask(code: string): boolean {
  const errorClass = lookUpErrorCode(code)?.class;
  return errorClass === 'chain' || (errorClass === 'caller' && code !== 'NOT_FOUND');
}

/** A malformed App ID is refused before the token is checked. */
function isAboutApp({ code, message }: { code: string; message: string }): boolean {
  return code.endsWith('_DATA_KEY') && /\bdata key app\b/i.test(message);
}

/** Only its host: a proxy's URL may hold a password. */
function throughProxy({ env }: CommandContext, url: string): string {
  const proxy = proxyFor(new URL(url), env);
  return proxy ? ` (through the proxy ${proxy.host}, which the environment names)` : '';
}

async function ask({ config }: CommandContext, { baseUrl, appId, token }: ServiceProfile) {
  const endpoint = endpoints.taskResponse;
  const { contentType, body } = frameData({ app: appId, connector: randomUUID(), include: ['entity'] });
  const { connectSeconds, headersSeconds } = config.values.timeouts;
  const dispatcher = createAgent({ connect: { timeout: connectSeconds * 1_000 } });
  const {
    statusCode,
    headers,
    body: answer,
  } = await request(createServiceAddress(baseUrl).endpointUrl(endpoint), {
    method: 'POST',
    dispatcher,
    headers: { authorization: `Bearer ${token.trim()}`, 'content-type': contentType, accept: '*/*' },
    body,
    signal: AbortSignal.timeout(Math.min(connectSeconds + headersSeconds, 30) * 1_000),
  });
  const oursMs = Date.now();
  const text = await answer.text();
  await dispatcher.close();
  return { raw: { endpoint, httpStatus: statusCode, headers, text }, oursMs };
}

function describeLimit(
  part: string,
  { limit, remaining, resetSeconds, retryAfterSeconds, throttled }: RateHeaders,
): Finding {
  if (throttled) {
    const wait = retryAfterSeconds === undefined ? '' : `; it asks to wait ${retryAfterSeconds} s`;
    const cure = 'Jobs wait by themselves. If it stays so: fewer workers, or a higher limit at the service.';
    return broken(part, `the service turns requests away (429)${wait}`, cure);
  }
  if (remaining === undefined) return ok(part, 'the service names none');
  const reset = resetSeconds === undefined ? '' : `, renewed in ${resetSeconds} s`;
  return ok(
    part,
    `${remaining}${limit === undefined ? '' : ` of ${limit}`} requests left for questions after tasks${reset}`,
  );
}
