import path from 'node:path';
import {
  CallbackKeyError,
  type CallbackKeys,
  ensureCallbackKeyFile,
  parseCallbackKeys,
} from 'temporal-file-conversion/callbacks';
import type { CallbackSettings } from 'temporal-file-conversion/worker';
import { makeStateFolders } from '../allowed';
import type { CommandContext } from '../command-context';
import { CommandError, explainStateFolder } from '../command-error';
import { readConfiguredSecret } from './secrets';

/** Key and URL for the callbacks that a worker requests; undefined if the configuration names no URL. */
export async function callbackSettings(context: CommandContext): Promise<CallbackSettings | undefined> {
  const { publicBaseUrl, embeddedBaseUrl } = context.config.values.callbacks;
  if (publicBaseUrl === undefined && embeddedBaseUrl === undefined) return undefined;
  const { current } = await readCallbackKeys(context);
  return { key: current, ...(publicBaseUrl !== undefined && { publicBaseUrl }) };
}

/** @throws CommandError if the configured key can't be used. */
export async function readCallbackKeys(context: CommandContext): Promise<CallbackKeys> {
  const { keyEnv: variable, keyFile: file } = context.config.values.callbacks;
  const what = 'The callback key';
  const fix = 'leave callbacks.key_file out to have one made';
  const configured = await readConfiguredSecret(context, { what, at: 'callbacks.key', variable, file, fix });
  const { text, place } = configured ?? (await ownKey(context));
  try {
    return parseCallbackKeys(text);
  } catch (error) {
    if (!(error instanceof CallbackKeyError)) throw error;
    throw new CommandError('INPUT_UNUSABLE', [`${what}: ${place} can't be used: ${error.message}.`], { cause: error });
  }
}

async function ownKey(context: CommandContext): Promise<{ text: string; place: string }> {
  const { config, secrets } = context;
  await makeStateFolders(context);
  const file = path.join(config.values.state.dir, 'callbacks.key');
  try {
    const text = await ensureCallbackKeyFile(file);
    secrets.hideWords(text);
    return { text, place: `the file ${file}` };
  } catch (error) {
    throw explainStateFolder(config.values.state.dir, error);
  }
}
