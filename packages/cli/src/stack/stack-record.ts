import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { replaceFile } from 'temporal-file-conversion/internal/storage/replace-file';
import { z } from 'zod';
import { isAlive } from './parent-process';

/**
 * The parts of a stack are on its own machine; a record that came with a folder must not lead elsewhere. Optional parts with another
 * URL are left out.
 */
const ownUrl = z.url({ protocol: /^http$/ }).refine((url) => isLoopback(new URL(url).hostname));

const recordSchema = z.object({
  /** The process that started the stack and stops it. */
  pid: z.int(),
  /** `up`: others may use it; `command`: it ends with the command that started it. */
  startedBy: z.enum(['up', 'command']),
  /** May be on another machine, if the stack was started for that Temporal: see `requireStackAllowed`. */
  temporal: z.object({ address: z.string(), namespace: z.string(), uiUrl: ownUrl.optional() }),
  service: z.object({ url: ownUrl }),
  callbacks: z.object({ url: ownUrl }).optional().catch(undefined),
  codec: z.object({ url: ownUrl }).optional().catch(undefined),
  taskQueue: z.string(),
});

/** A running stack, as it tells other processes where it is: `<state>/stack.json`. */
export type StackRecord = z.infer<typeof recordSchema>;

function recordFile(stateDir: string): string {
  return path.join(stateDir, 'stack.json');
}

export async function writeStackRecord(stateDir: string, record: StackRecord): Promise<void> {
  await replaceFile(recordFile(stateDir), `${JSON.stringify(record, undefined, 2)}\n`);
}

/** May be left over from a crash: only the holder of the stack's lock is certainly alive. */
export async function readStackRecord(stateDir: string): Promise<StackRecord | undefined> {
  try {
    return recordSchema.parse(JSON.parse(await readFile(recordFile(stateDir), 'utf8')));
  } catch {
    return undefined;
  }
}

/** The stack whose process is still there. */
export async function readLiveStack(stateDir: string): Promise<StackRecord | undefined> {
  const record = await readStackRecord(stateDir);
  return record && isAlive(record.pid) ? record : undefined;
}

export async function removeStackRecord(stateDir: string): Promise<void> {
  await rm(recordFile(stateDir), { force: true });
}

const holderSchema = z.object({ pid: z.int(), startedBy: z.enum(['up', 'command']), since: z.iso.datetime() });

/** Who holds the lock of a stack, also while it still starts: `<state>/stack-holder.json`. */
type StackHolder = z.infer<typeof holderSchema>;

function holderFile(stateDir: string): string {
  return path.join(stateDir, 'stack-holder.json');
}

/** Call it right after the lock was acquired. */
export async function writeStackHolder(stateDir: string, startedBy: StackHolder['startedBy']): Promise<void> {
  const holder: StackHolder = { pid: process.pid, startedBy, since: new Date().toISOString() };
  await replaceFile(holderFile(stateDir), `${JSON.stringify(holder)}\n`);
}

/** Undefined when there is no record, or its process is dead. */
export async function readStackHolder(stateDir: string): Promise<StackHolder | undefined> {
  try {
    const holder = holderSchema.parse(JSON.parse(await readFile(holderFile(stateDir), 'utf8')));
    return isAlive(holder.pid) ? holder : undefined;
  } catch {
    return undefined;
  }
}

export async function removeStackHolder(stateDir: string): Promise<void> {
  await rm(holderFile(stateDir), { force: true });
}

/** Whether a host name, as in a URL, means this machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}

/** The same for `host:port`. */
export function isLoopbackAddress(address: string): boolean {
  return isLoopback(address.replace(/:\d{1,5}$/, ''));
}
