import type { DataConverter } from '@temporalio/common';
import {
  createEncryptedDataConverter,
  createPlainDataConverter,
} from 'temporal-file-conversion/internal/encryption/data-converter';
import { EncryptionKeyError, parseEncryptionKeys } from 'temporal-file-conversion/internal/encryption/encryption-keys';
import type { EncryptionKeys } from 'temporal-file-conversion/internal/encryption/encryption-keys';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import { keySource, placeOf, readKeySource } from './key-source';

const makeOne = 'make one: echo "2026-11:$(openssl rand -base64 32)", readable by you only';

/** Whether payloads are encrypted. */
export function isEncrypting({ config }: CommandContext): boolean {
  const { keyEnv, keyFile } = config.values.encryption;
  return keyEnv !== undefined || keyFile !== undefined;
}

/**
 * The data converter of every client and worker. Without keys it still says why an encrypted payload can't be read.
 * @throws CommandError
 */
export async function openDataConverter(context: CommandContext): Promise<DataConverter> {
  const keys = await readEncryptionKeys(context);
  return keys ? createEncryptedDataConverter(keys) : createPlainDataConverter();
}

/** Cached, so that the warning about a file that others can read appears once. */
const known = new WeakMap<CommandContext['config'], Promise<EncryptionKeys | undefined>>();

/**
 * Undefined when encryption is off.
 * @throws CommandError
 */
export function readEncryptionKeys(context: CommandContext): Promise<EncryptionKeys | undefined> {
  const keys = known.get(context.config) ?? readKeys(context);
  known.set(context.config, keys);
  return keys;
}

async function readKeys(context: CommandContext): Promise<EncryptionKeys | undefined> {
  const { keyEnv, keyFile } = context.config.values.encryption;
  const source = keySource({
    what: 'The encryption keys',
    section: 'encryption',
    keys: ['key_env', 'key_file'],
    env: keyEnv,
    file: keyFile,
  });
  if (!source) return undefined;
  const text = await readKeySource(context, source, makeOne);
  try {
    return parseEncryptionKeys(text);
  } catch (error) {
    if (!(error instanceof EncryptionKeyError)) throw error;
    throw new CommandError('INPUT_UNUSABLE', [`${source.what}: ${placeOf(source)} can't be used: ${error.message}.`], {
      cause: error,
    });
  }
}
