import { type KeyObject, randomUUID } from 'node:crypto';
import { access, constants, statfs } from 'node:fs/promises';
import path from 'node:path';
import { confinements, versionsOf } from 'temporal-file-conversion-service/engines';
import { createCallbackUrl, parseCallbackKeys } from 'temporal-file-conversion/callbacks';
import { lookUpErrorCode } from 'temporal-file-conversion/contract';
import { ConversionApiError } from 'temporal-file-conversion/http';
import { fileSize, shellWord } from 'temporal-file-conversion/messages';
import { createAgent, proxyFor } from 'temporal-file-conversion/network';
import { request } from 'undici';
import type { CommandContext } from '../command-context';
import { embeddedCatalog, leavesEnginesToService } from '../formats/formats';
import { callbackSettings } from '../keys/callback-settings';
import { explainServiceFailure, openApi } from '../service/profiles';
import { readLiveStack } from '../stack/stack-record';

export interface PartFinding {
  part: string;
  status: 'ok' | 'warning' | 'broken' | 'skipped';
  says: string;
  fix?: string;
}

export function ok(part: string, says: string): PartFinding {
  return { part, status: 'ok', says };
}

export function broken(part: string, says: string, fix: string): PartFinding {
  return { part, status: 'broken', says, fix };
}

/** A finding from an error whose first sentence is the problem and the rest the fix. */
export function brokenBy(part: string, error: unknown, otherFix: string): PartFinding {
  const [, says = reasonOf(error), fix = otherFix] = /^(.+?)\. (.+)$/.exec(reasonOf(error)) ?? [];
  return broken(part, says, fix);
}

export function skipped(part: string, says: string): PartFinding {
  return { part, status: 'skipped', says };
}

export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n')[0] ?? '';
}

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

/** An unknown task proves that the service knows the app and its token; `NOT_FOUND` means that the address is wrong. */
function provesAccount(error: ConversionApiError): boolean {
  const errorClass = lookUpErrorCode(error.code)?.class;
  return errorClass === 'chain' || (errorClass === 'caller' && error.code !== 'NOT_FOUND' && !isAboutApp(error));
}

/** A malformed App ID is refused before the token is checked, so this proves nothing. */
function isAboutApp({ code, message }: ConversionApiError): boolean {
  return code.endsWith('_DATA_KEY') && /\bdata key app\b/i.test(message);
}

function describe(part: string, error: ConversionApiError, where: { app: string; baseUrl: string }): PartFinding {
  const { app, baseUrl } = where;
  if (error.httpStatus === 429) {
    const wait = error.retryAfterSeconds === undefined ? '' : `; it asks to wait ${error.retryAfterSeconds} s`;
    const fix = 'Jobs wait by themselves. If it stays so: fewer workers, or a higher limit at the service.';
    return broken(part, `${baseUrl} turns requests away (429)${wait}`, fix);
  }
  const isOfAccount = isAboutApp(error) || error.httpStatus === 401 || error.httpStatus === 403;
  const explained = explainServiceFailure(error, where);
  if (explained && !isOfAccount) return brokenBy(part, explained, configShow);
  const fix = isOfAccount
    ? `Check the App ID and the token of app ${app}: ${configShow}`
    : `Is ${baseUrl} a conversion service? Check base_url of app ${app} (${configShow}), and the service's own state.`;
  return broken(part, reasonOf(error), fix);
}

/** Names only the proxy's host, because its URL may hold a password. */
function throughProxy({ env }: CommandContext, url: string): string {
  const proxy = proxyFor(new URL(url), env);
  return proxy ? ` (through the proxy ${proxy.host}, which the environment names)` : '';
}

const callbacksPart = 'callbacks';
const timeoutMs = 10_000;
const nobody = { workflowId: 'fileconv-doctor', nonce: '00000000-0000-4000-8000-000000000000' };

/** Sends a signed callback for a nonexistent job to the receiver's address, but from this machine, not from the services'. */
export async function checkCallbacks(context: CommandContext): Promise<PartFinding> {
  const { callbacks, state } = context.config.values;
  const { publicBaseUrl, embeddedBaseUrl } = callbacks;
  const url = publicBaseUrl ?? embeddedBaseUrl;
  if (url === undefined) {
    const stack = await readLiveStack(state.dir);
    if (!stack?.callbacks) return ok(callbacksPart, 'not configured (callbacks.public_base_url): jobs poll');
    return checkHealth(stack.callbacks.url);
  }
  const name = publicBaseUrl === undefined ? 'embedded_base_url' : 'public_base_url';
  const start = `Start the receiver (fileconv callbacks) behind ${url}, or correct callbacks.${name}: fileconv config show`;
  let key: KeyObject | undefined;
  try {
    const given = (await callbackSettings(context))?.key;
    key = typeof given === 'string' ? parseCallbackKeys(given).current : given;
  } catch (error) {
    return broken(
      callbacksPart,
      reasonOf(error),
      'Set callbacks.key_env or callbacks.key_file to the key of the receiver.',
    );
  }
  if (!key) return ok(callbacksPart, 'not configured: jobs poll');
  let status: number;
  try {
    status = await statusOf(createCallbackUrl(url, nobody, key), 'POST');
  } catch (error) {
    return broken(callbacksPart, `${url} can't be reached: ${reasonOf(error)}`, start);
  }
  if (status === 204) return ok(callbacksPart, `${url} accepts signed callbacks`);
  if (status === 401) {
    const fix = 'Give receiver and workers the same key (callbacks.key_env or key_file).';
    return broken(callbacksPart, `${url} refuses our signature: it has another key`, fix);
  }
  if (status === 503) {
    const fix = 'Correct TEMPORAL_ADDRESS where the receiver runs, or start Temporal there.';
    return broken(callbacksPart, `${url} answers 503: its receiver can't reach Temporal`, fix);
  }
  return broken(callbacksPart, `${url} answers HTTP ${status}, not as the receiver does`, start);
}

async function checkHealth(url: string): Promise<PartFinding> {
  const again = 'Start the stack again: fileconv up';
  try {
    const status = await statusOf(`${url}/healthz`, 'GET');
    if (status === 200) return ok(callbacksPart, `${url}, for the embedded service`);
    return broken(callbacksPart, `${url} answers HTTP ${status}`, again);
  } catch (error) {
    return broken(callbacksPart, `${url} can't be reached: ${reasonOf(error)}`, again);
  }
}

async function statusOf(url: string, method: 'GET' | 'POST'): Promise<number> {
  const dispatcher = createAgent({ connect: { timeout: timeoutMs } });
  const { statusCode, body } = await request(url, { method, dispatcher, signal: AbortSignal.timeout(timeoutMs) });
  await body.dump();
  await dispatcher.close();
  return statusCode;
}

export async function checkEngines(context: CommandContext): Promise<PartFinding[]> {
  if (await leavesEnginesToService(context)) return [skipped('engines', 'the running service has its own')];
  const states = embeddedCatalog(context).engineStates();
  const versions = await Promise.all(states.filter(({ isHere }) => isHere).map(({ engine }) => versionsOf(engine)));
  const here = new Set(versions.flat());
  const missing = states
    .filter(({ adds }) => adds > 0)
    .map(({ engine, adds }) => `${engine.name} would add ${adds} pairs of formats`);
  const says = [[...here].join(', '), ...missing].join('; ');
  return [
    here.size > 0
      ? ok('engines', says)
      : broken('engines', 'the embedded service converts nothing', 'See what to install: fileconv formats --engines'),
    ok('confinement', `conversions ${confinements()[0].says}`),
  ];
}

/** One finding per folder that may be on its own disk. */
export async function checkDisk({ config }: CommandContext): Promise<PartFinding[]> {
  const { state, service } = config.values;
  const ofState = roomIn(state.dir, service, 'or keep the state elsewhere: FILECONV_STATE_DIR');
  if (!path.relative(state.dir, service.dataDir).startsWith('..')) return [await ofState];
  const another = "or keep the service's files elsewhere: FILECONV_SERVICE_DATA_DIR";
  return Promise.all([ofState, roomIn(service.dataDir, service, another)]);
}

async function roomIn(dir: string, { minFreeBytes }: { minFreeBytes: number }, another: string): Promise<PartFinding> {
  const part = 'disk';
  const folder = await nearestFolder(dir);
  try {
    await access(folder, constants.W_OK);
  } catch (error) {
    return broken(
      part,
      `${folder} can't be written: ${reasonOf(error)}`,
      `Allow it (chmod u+w ${shellWord(folder)}), ${another}`,
    );
  }
  const { bavail, bsize } = await statfs(folder);
  const freeBytes = bavail * bsize;
  const says = `${fileSize(freeBytes)} free for ${dir}`;
  if (freeBytes > minFreeBytes) return ok(part, says);
  const least = fileSize(minFreeBytes);
  return broken(part, `${says}, less than service.min_free_bytes (${least})`, `Make room, ${another}`);
}

async function nearestFolder(folder: string): Promise<string> {
  try {
    await access(folder);
    return folder;
  } catch {
    const parent = path.dirname(folder);
    return parent === folder ? folder : nearestFolder(parent);
  }
}
