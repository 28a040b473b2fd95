import { readlinkSync } from 'node:fs';
import { isLoopback } from 'temporal-file-conversion/network';
import { z } from 'zod';
import type { CommandContext } from '../command-context';
import { isAlive } from '../process/asked-to-end';
import { recordFile } from '../process/record-file';

const schema = z.object({
  pid: z.int(),
  /** Process ids are unique only within a namespace, and containers may share a data folder. */
  pidNamespace: z.string(),
  url: z.url().refine((url) => isLoopback(new URL(url).hostname)),
});
const serviceRecord = recordFile('service.json', schema);

/**
 * The URL of this configuration's embedded service: as recorded by the service that runs on its data folder, else as configured
 * explicitly. Undefined otherwise, because another user's service may listen at the default port.
 */
export async function embeddedServiceUrl(context: CommandContext): Promise<string | undefined> {
  const { origins, values } = context.config;
  const running = await runningServiceUrl(context);
  const isSpelledOut =
    values.service.port !== 0 && ['service.host', 'service.port'].some((key) => origins[key] !== undefined);
  return running ?? (isSpelledOut ? configuredServiceUrl(context) : undefined);
}

/** URL of the service that runs on this configuration's data folder, alone or in a stack. */
export async function runningServiceUrl({ config }: Pick<CommandContext, 'config'>): Promise<string | undefined> {
  const record = await serviceRecord.read(config.values.service.dataDir);
  return record && (record.pidNamespace !== pidNamespace() || isAlive(record.pid)) ? record.url : undefined;
}

export function configuredServiceUrl({ config }: Pick<CommandContext, 'config'>): string {
  const { host, port } = config.values.service;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Writes `<data>/service.json`; must be called once the service listens. */
export function writeServiceRecord(dataDir: string, url: string): Promise<void> {
  return serviceRecord.write(dataDir, { pid: process.pid, pidNamespace: pidNamespace(), url });
}

export const { remove: removeServiceRecord } = serviceRecord;

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}
