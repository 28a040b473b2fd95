import type { DataConverter } from '@temporalio/common';
import {
  createEncryptedDataConverter,
  createPlainDataConverter,
  EncryptionCodec,
  EncryptionKeyError,
  type EncryptionKeys,
  parseEncryptionKeys,
} from 'temporal-file-conversion/encryption';
import type { CommandContext } from '../command-context';
import { CommandError, explainListen } from '../command-error';
import type { CodecServer } from './codec-server';
import { readConfiguredSecret } from './secrets';

const makeOne = 'make one: echo "2026-11:$(openssl rand -base64 32)", readable by you only';

/** The data converter of every client and worker. Without keys it still explains why an encrypted payload can't be read. */
export async function openDataConverter(context: CommandContext): Promise<DataConverter> {
  const keys = await readEncryptionKeys(context);
  return keys ? createEncryptedDataConverter(keys) : createPlainDataConverter();
}

/** Undefined if encryption is off. @throws CommandError */
export async function readEncryptionKeys(context: CommandContext): Promise<EncryptionKeys | undefined> {
  const { keyEnv: variable, keyFile: file } = context.config.values.encryption;
  const what = 'The encryption keys';
  const found = await readConfiguredSecret(context, { what, at: 'encryption.key', variable, file, fix: makeOne });
  try {
    return found && parseEncryptionKeys(found.text);
  } catch (error) {
    if (!(error instanceof EncryptionKeyError)) throw error;
    const problem = `${what}: ${found?.place ?? ''} can't be used: ${error.message}.`;
    throw new CommandError('INPUT_UNUSABLE', [problem], { cause: error });
  }
}

/**
 * A codec server with the configured keys, for the configured UI and a stack's own UI.
 * @throws CommandError also if encryption is off.
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
  // Lazy: most commands serve nothing.
  const { startCodecServer } = await import('./codec-server.js');
  return startCodecServer({
    codec: new EncryptionCodec(keys),
    uiOrigins: () => [uiOrigin, ownUiUrl()].flatMap((url) => (url === undefined ? [] : [new URL(url).origin])),
    ...(token !== undefined && { token }),
    host,
    port,
    log: (line) => context.output.warn(line),
  }).catch((error: unknown) => {
    throw explainListen(error, { section: 'codec', host, port, whose: 'the codec server' });
  });
}

async function readToken(context: CommandContext): Promise<string | undefined> {
  const { tokenEnv: variable, tokenFile: file } = context.config.values.codec;
  const what = "The codec server's token";
  const fix = 'put the token there, readable by you only';
  const found = await readConfiguredSecret(context, { what, at: 'codec.token', variable, file, fix });
  if (!found) return undefined;
  const token = found.text.trim();
  if (token === '') throw new CommandError('INPUT_UNUSABLE', [`${what}: ${found.place} is empty.`]);
  return token;
}
