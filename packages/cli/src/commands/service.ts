import { readFile } from 'node:fs/promises';
import type { CommandContext } from '../command-context';
import { openLog } from '../observability/log';
import { aborted, untilAskedToEnd } from '../process/asked-to-end';
import { startService } from '../stack/service-part';

export async function service(context: CommandContext): Promise<void> {
  const { config, output } = context;
  const log = await openLog(context, { process: 'service' });
  const signal = untilAskedToEnd(context);
  const part = await startService(context, { port: config.values.service.port, log });
  const { url, appId, tokenFile } = part;
  const details = { url, appId, tokenFile };
  output.result(details, await describeService(details, context.stdout.isTTY === true));
  await aborted(signal);
  await part.close();
}

/** Includes lines to paste into another terminal. Shows the token only on a terminal, since any other output may be a log. */
async function describeService(
  { url, appId, tokenFile }: { url: string; appId: string; tokenFile: string },
  isTerminal: boolean,
): Promise<string> {
  const quoted = `'${tokenFile.replaceAll("'", "'\\''")}'`;
  const token = isTerminal ? (await readFile(tokenFile, 'utf8')).trim() : `"$(cat ${quoted})"`;
  return [
    `Conversion service  ${url}`,
    `App ID              ${appId}`,
    `Token file          ${tokenFile}`,
    '',
    'For a client of yours (docs/service/clients.md):',
    `export CONVERSION_URL=${url}`,
    `export CONVERSION_APP=${appId}`,
    `export CONVERSION_TOKEN=${token}`,
  ].join('\n');
}
