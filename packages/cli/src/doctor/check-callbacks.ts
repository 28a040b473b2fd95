import type { KeyObject } from 'node:crypto';
import { createCallbackUrl, parseCallbackKeys } from 'temporal-file-conversion/callbacks';
import { createAgent } from 'temporal-file-conversion/network';
import { request } from 'undici';
import type { CommandContext } from '../command-context';
import { callbackSettings } from '../keys/callback-settings';
import { readLiveStack } from '../stack/stack-record';
import { broken, ok, reasonOf, type PartFinding } from './finding';

const part = 'callbacks';
const timeoutMs = 10_000;
const nobody = { workflowId: 'fileconv-doctor', nonce: '00000000-0000-4000-8000-000000000000' };

/** Sends a signed callback for a job that does not exist to the receiver's public URL: from this machine, not from the service's. */
export async function checkCallbacks(context: CommandContext): Promise<PartFinding> {
  const { callbacks, state } = context.config.values;
  if (callbacks.publicBaseUrl === undefined) {
    const stack = await readLiveStack(state.dir);
    if (!stack?.callbacks) return ok(part, 'not configured (callbacks.public_base_url): jobs poll');
    return checkHealth(stack.callbacks.url);
  }
  const url = callbacks.publicBaseUrl;
  const start = `Start the receiver (fileconv callbacks) behind ${url}, or correct callbacks.public_base_url: fileconv config show`;
  let key: KeyObject | undefined;
  try {
    const given = (await callbackSettings(context))?.key;
    key = typeof given === 'string' ? parseCallbackKeys(given).current : given;
  } catch (error) {
    return broken(part, reasonOf(error), 'Set callbacks.key_env or callbacks.key_file to the key of the receiver.');
  }
  if (!key) return ok(part, 'not configured: jobs poll');
  let status: number;
  try {
    status = await statusOf(createCallbackUrl(url, nobody, key), 'POST');
  } catch (error) {
    return broken(part, `${url} can't be reached: ${reasonOf(error)}`, start);
  }
  if (status === 204) return ok(part, `${url} takes signed callbacks`);
  if (status === 401) {
    const cure = 'Give receiver and workers the same key (callbacks.key_env or key_file).';
    return broken(part, `${url} refuses our signature: it has another key`, cure);
  }
  if (status === 503) {
    const cure = 'Correct TEMPORAL_ADDRESS where the receiver runs, or start Temporal there.';
    return broken(part, `${url} answers 503: its receiver can't reach Temporal`, cure);
  }
  return broken(part, `${url} answers HTTP ${status}, not as the receiver does`, start);
}

async function checkHealth(url: string): Promise<PartFinding> {
  const again = 'Start the stack again: fileconv up';
  try {
    const status = await statusOf(`${url}/healthz`, 'GET');
    if (status === 200) return ok(part, `${url}, for the embedded service`);
    return broken(part, `${url} answers HTTP ${status}`, again);
  } catch (error) {
    return broken(part, `${url} can't be reached: ${reasonOf(error)}`, again);
  }
}

async function statusOf(url: string, method: 'GET' | 'POST'): Promise<number> {
  const dispatcher = createAgent({ connect: { timeout: timeoutMs } });
  const { statusCode, body } = await request(url, { method, dispatcher, signal: AbortSignal.timeout(timeoutMs) });
  await body.dump();
  await dispatcher.close();
  return statusCode;
}
