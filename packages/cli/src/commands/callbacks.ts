import type { CommandContext } from '../command-context';
import { openReceiver } from '../stack/receiver-part';
import { openLog, runningOutput } from '../observability/log';
import { aborted, untilAskedToEnd } from '../process/asked-to-end';
import { findTemporal } from '../stack/open-temporal';

export async function callbacks(context: CommandContext): Promise<void> {
  const { config, output } = context;
  const signal = untilAskedToEnd(context);
  const { target } = await findTemporal(context);
  const { port, publicBaseUrl, embeddedBaseUrl } = config.values.callbacks;
  const log = await openLog(context, { process: 'callbacks' });
  const receiver = await openReceiver(context, { target, port, log });
  const address = target.connection.address;
  if (output.json) output.printJson({ url: receiver.url, publicBaseUrl: publicBaseUrl ?? null, address });
  else {
    const news = runningOutput(context, log);
    news.say(`Receiving callbacks at ${receiver.url} for Temporal at ${address}. Ctrl-C stops it.`);
    if (publicBaseUrl === undefined && embeddedBaseUrl === undefined) {
      news.warn(
        'No service is asked to call back: set public_base_url in [callbacks] for the workers, with the same key.',
      );
    }
  }
  await aborted(signal);
  await receiver.close();
}
