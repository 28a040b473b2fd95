import type { DataConverter } from '@temporalio/common';
import {
  createEncryptedDataConverter,
  createPlainDataConverter,
} from 'temporal-file-conversion/internal/encryption/data-converter';
import { EncryptionKeyError, parseEncryptionKeys } from 'temporal-file-conversion/internal/encryption/encryption-keys';
import type { EncryptionKeys } from 'temporal-file-conversion/internal/encryption/encryption-keys';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import type { CodecServer } from './codec-server';
import { readConfiguredSecret } from './configured-secret';

const makeOne = 'make one: echo "2026-11:$(openssl rand -base64 32)", readable by you only';

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
  const { keyEnv: variable, keyFile: file } = context.config.values.encryption;
  const what = 'The encryption keys';
  const keys = ['encryption.key_env', 'encryption.key_file'] as const;
  const found = await readConfiguredSecret(context, { what, keys, variable, file, cure: makeOne });
  try {
    return found && parseEncryptionKeys(found.text);
  } catch (error) {
    if (!(error instanceof EncryptionKeyError)) throw error;
    const problem = `${what}: ${found?.place ?? ''} can't be used: ${error.message}.`;
    throw new CommandError('INPUT_UNUSABLE', [problem], { cause: error });
  }
}

/**
 * A codec server with the configured keys, for the configured UI and that of a stack.
 * @throws CommandError also when encryption is off.
 */
export async function openCodecServer(
  context: CommandContext,
  { port, ownUiUrl = () => undefined }: { port: number; ownUiUrl?: () => string | undefined },
): Promise<CodecServer> {
  const { host, uiOrigin } = context.config.values.codec;
  const keys = await readEncryptionKeys(context);
  if (!keys) {
    throw new CommandError('INPUT_UNUSABLE', [
      'There is nothing to decrypt: encryption is off. Set encryption.key_file or key_env to the keys of the workers.',
    ]);
  }
  const token = await readToken(context);
  // Loaded here: most commands serve nothing.
  const { EncryptionCodec } = await import('temporal-file-conversion/internal/encryption/encryption-codec');
  const { startCodecServer } = await import('./codec-server.js');
  return startCodecServer({
    codec: new EncryptionCodec(keys),
    uiOrigins: () => [uiOrigin, ownUiUrl()].flatMap((url) => (url === undefined ? [] : [new URL(url).origin])),
    ...(token !== undefined && { token }),
    host,
    port,
    log: (line) => context.output.warn(line),
  });
}

async function readToken(context: CommandContext): Promise<string | undefined> {
  const { tokenEnv: variable, tokenFile: file } = context.config.values.codec;
  const what = "The codec server's token";
  const keys = ['codec.token_env', 'codec.token_file'] as const;
  const cure = 'put the token there, readable by you only';
  const found = await readConfiguredSecret(context, { what, keys, variable, file, cure });
  if (!found) return undefined;
  const token = found.text.trim();
  if (token === '') throw new CommandError('INPUT_UNUSABLE', [`${what}: ${found.place} is empty.`]);
  return token;
}
