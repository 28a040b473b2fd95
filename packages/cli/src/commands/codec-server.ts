import { systemErrorCode } from 'temporal-file-conversion/internal/shared/system-error';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import { openCodecServer } from '../keys/encryption-settings';
import { aborted, reportReady, untilAskedToEnd } from '../stack/parent-process';

/** `fileconv codec-server`: decrypts payloads for the Temporal UI until it is asked to end. */
export async function codecServer(context: CommandContext): Promise<void> {
  const { config, output } = context;
  const { host, port, uiOrigin } = config.values.codec;
  const signal = untilAskedToEnd();
  const server = await openCodecServer(context, { port }).catch((error: unknown) => {
    if (systemErrorCode(error) !== 'EADDRINUSE') throw error;
    const problem = `Another program listens on ${host}:${port}. End it, or give the codec server another port (FILECONV_CODEC_PORT=0: any free one).`;
    throw new CommandError('SERVICE_UNUSABLE', [problem], { cause: error });
  });
  reportReady();
  if (output.json) output.printJson({ url: server.url, uiOrigin: uiOrigin ?? null });
  else {
    output.say(
      `Payloads are decrypted at ${server.url}, for ${uiOrigin ?? 'programs of this machine'}. Ctrl-C ends it.`,
    );
    if (uiOrigin === undefined) output.warn('No UI may ask: set ui_origin in [codec] to where the UI is opened.');
  }
  await aborted(signal);
  await server.close();
}
