import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import type { CodecServer } from './codec-server';
import { readEncryptionKeys } from './encryption-settings';
import { keySource, placeOf, readKeySource } from './key-source';

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
  const { tokenEnv: env, tokenFile: file } = context.config.values.codec;
  const what = "The codec server's token";
  const source = keySource({ what, section: 'codec', keys: ['token_env', 'token_file'], env, file });
  if (!source) return undefined;
  const token = (await readKeySource(context, source, 'put the token there, readable by you only')).trim();
  if (token === '') throw new CommandError('INPUT_UNUSABLE', [`${what}: ${placeOf(source)} is empty.`]);
  return token;
}
