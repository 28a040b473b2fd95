import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { replaceFile } from 'temporal-file-conversion/storage';
import { z } from 'zod';
import { isLoopback } from 'temporal-file-conversion/network';
import { byLoopbackNumber } from '../config/value-types';
import { isAlive } from './asked-to-end';

/** A file by which running processes tell others of themselves. An unreadable one counts as none. */
export function recordFile<Value>(name: string, schema: z.ZodType<Value>) {
  const fileIn = (folder: string) => path.join(folder, name);
  return {
    read: async (folder: string): Promise<Value | undefined> => {
      try {
        return schema.parse(JSON.parse(await readFile(fileIn(folder), 'utf8')));
      } catch {
        return undefined;
      }
    },
    write: (folder: string, value: Value): Promise<void> =>
      replaceFile(fileIn(folder), `${JSON.stringify(value, undefined, 2)}\n`),
    remove: (folder: string): Promise<void> => rm(fileIn(folder), { force: true }),
  };
}

/** The parts of a stack are on its own machine. Optional parts with another URL are left out. */
const ownUrl = z.url({ protocol: /^http$/ }).refine((url) => isLoopback(new URL(url).hostname));

const holderSchema = z.object({
  /** The process that started the stack and stops it. */
  pid: z.int(),
  /** `up`: others may use it; `command`: it ends with the command that started it. */
  startedBy: z.enum(['up', 'command']),
  since: z.iso.datetime(),
});

const recordSchema = holderSchema.extend({
  /** May be on another machine, if the stack was started for that Temporal. */
  temporal: z.object({ address: z.string(), namespace: z.string(), uiUrl: ownUrl.optional() }),
  service: z.object({ url: ownUrl }),
  callbacks: z.object({ url: ownUrl }).optional().catch(undefined),
  codec: z.object({ url: ownUrl }).optional().catch(undefined),
  taskQueue: z.string(),
  /** App profiles that its worker knows. */
  apps: z.array(z.string()).optional(),
});

/** Who holds the lock of a stack, also while it still starts. */
export type StackHolder = z.infer<typeof holderSchema>;
/** A running stack, as it tells other processes where it is. */
export type StackRecord = z.infer<typeof recordSchema>;

/** A file of both: its holder writes it right after the lock was acquired, and again, whole, once all parts run. */
const file = 'stack.json';
const holderFile = recordFile(file, holderSchema);
export const { write: writeStackHolder } = holderFile;
/** May be left over from a crash: only the holder of the stack's lock is certainly alive. */
export const {
  read: readStackRecord,
  write: writeStackRecord,
  remove: removeStackRecord,
} = recordFile(file, recordSchema);

/** Undefined when there is no record, or its process is dead. */
export async function readStackHolder(stateDir: string): Promise<StackHolder | undefined> {
  const holder = await holderFile.read(stateDir);
  return holder && isAlive(holder.pid) ? holder : undefined;
}

export async function readLiveStack(stateDir: string): Promise<StackRecord | undefined> {
  const record = await readStackRecord(stateDir);
  return record && isAlive(record.pid) ? record : undefined;
}

/** Whether the Temporal of this address is the one of a stack, which writes 127.0.0.1. */
export function isOfStack({ temporal }: StackRecord, address: string): boolean {
  return byLoopbackNumber(address) === temporal.address;
}
