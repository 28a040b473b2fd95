import { systemErrorCode } from 'temporal-file-conversion/internal/shared/system-error';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import { openReceiver } from '../keys/callback-settings';
import { openLog, runningOutput } from '../observability/log';
import { aborted, reportReady, untilAskedToEnd } from '../stack/parent-process';
import { findTemporal } from '../stack/open-temporal';

/** `fileconv callbacks`: takes callbacks until it is asked to end. */
export async function callbacks(context: CommandContext): Promise<void> {
  const { config, output } = context;
  const { values } = config;
  const signal = untilAskedToEnd();
  const { target } = await findTemporal(context);
  const { host, port, publicBaseUrl } = values.callbacks;
  const log = await openLog(context, { process: 'callbacks' });
  const receiver = await openReceiver(context, { target, port, log }).catch((error: unknown) => {
    if (systemErrorCode(error) !== 'EADDRINUSE') throw error;
    const problem = `Another program listens on ${host}:${port}. End it, or give the receiver another port (FILECONV_CALLBACKS_PORT=0: any free one).`;
    throw new CommandError('SERVICE_UNUSABLE', [problem], { cause: error });
  });
  reportReady();
  const address = target.connection.address;
  if (output.json) output.printJson({ url: receiver.url, publicBaseUrl: publicBaseUrl ?? null, address });
  else {
    const news = runningOutput(context, log);
    news.say(`Callbacks are taken at ${receiver.url} and signalled to ${address}. Ctrl-C ends it.`);
    if (publicBaseUrl === undefined) {
      news.warn(
        'No service is asked to call back: set public_base_url in [callbacks] for the workers, with the same key.',
      );
    }
  }
  await aborted(signal);
  await receiver.close();
}
