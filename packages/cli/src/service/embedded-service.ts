import { readlinkSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { replaceFile } from 'temporal-file-conversion/internal/storage/replace-file';
import { z } from 'zod';
import type { CommandContext } from '../command-context';
import { isAlive } from '../stack/parent-process';
import { isLoopback, readLiveStack } from '../stack/stack-record';

const schema = z.object({
  pid: z.int(),
  /** Process ids are unique only within it, and containers may share a data folder. */
  pidNamespace: z.string(),
  url: z.url().refine((url) => isLoopback(new URL(url).hostname)),
});

/**
 * The URL of the embedded service of this configuration: as recorded by what runs on its folders, otherwise as configured
 * explicitly. Undefined without either: another user's service may listen at the default port.
 */
export async function embeddedServiceUrl(context: CommandContext): Promise<string | undefined> {
  const { values, origins } = context.config;
  const running =
    (await readLiveStack(values.state.dir))?.service.url ?? (await readRecord(values.service.dataDir))?.url;
  const isSpelledOut = ['service.host', 'service.port'].some((key) => origins[key] !== undefined);
  return running ?? (isSpelledOut ? configuredServiceUrl(context) : undefined);
}

/** Its URL by the configuration. */
export function configuredServiceUrl({ config }: Pick<CommandContext, 'config'>): string {
  const { host, port } = config.values.service;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Call it once the service listens. Writes `<data>/service.json`. */
export async function writeServiceRecord(dataDir: string, url: string): Promise<void> {
  await replaceFile(fileOf(dataDir), `${JSON.stringify({ pid: process.pid, pidNamespace: pidNamespace(), url })}\n`);
}

export async function removeServiceRecord(dataDir: string): Promise<void> {
  await rm(fileOf(dataDir), { force: true });
}

async function readRecord(dataDir: string): Promise<z.infer<typeof schema> | undefined> {
  try {
    const record = schema.parse(JSON.parse(await readFile(fileOf(dataDir), 'utf8')));
    return record.pidNamespace !== pidNamespace() || isAlive(record.pid) ? record : undefined;
  } catch {
    return undefined;
  }
}

function fileOf(dataDir: string): string {
  return path.join(dataDir, 'service.json');
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}
