import type { CommandContext } from '../command-context';
import { openCodecServer } from '../keys/encryption';
import { aborted, untilAskedToEnd } from '../process/asked-to-end';

export async function codecServer(context: CommandContext): Promise<void> {
  const { config, output } = context;
  const { port, uiOrigin } = config.values.codec;
  const signal = untilAskedToEnd(context);
  const server = await openCodecServer(context, { port });
  if (output.json) output.printJson({ url: server.url, uiOrigin: uiOrigin ?? null });
  else {
    output.say(`Decrypting payloads at ${server.url} for ${uiOrigin ?? 'programs on this machine'}. Ctrl-C stops it.`);
    if (uiOrigin === undefined) output.warn('No UI may ask: set ui_origin in [codec] to where the UI is opened.');
  }
  await aborted(signal);
  await server.close();
}
