import { z } from 'zod';
import { isLoopback } from 'temporal-file-conversion/network';
import { byLoopbackNumber } from '../config/value-types';
import { isAlive } from '../process/asked-to-end';
import { recordFile } from '../process/record-file';

/** The parts of a stack run on its own machine. Optional parts with another URL are ignored. */
const ownUrl = z.url({ protocol: /^http$/ }).refine((url) => isLoopback(new URL(url).hostname));

const holderSchema = z.object({
  /** The process that started the stack and stops it. */
  pid: z.int(),
  /** `up`: other commands may use it; `command`: it ends with the command that started it. */
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

/** The process that holds the lock of a stack, even while the stack starts. */
export type StackHolder = z.infer<typeof holderSchema>;
/** A running stack and the addresses of its parts, for other processes. */
export type StackRecord = z.infer<typeof recordSchema>;

/** One file for both: written as a holder once the lock is acquired, and replaced by the record once all parts run. */
const file = 'stack.json';
const holderFile = recordFile(file, holderSchema);
export const { write: writeStackHolder } = holderFile;
/** May be left over from a crash: only the lock's holder is certainly alive. */
export const {
  read: readStackRecord,
  write: writeStackRecord,
  remove: removeStackRecord,
} = recordFile(file, recordSchema);

/** Undefined if there is no record, or its process is dead. */
export async function readStackHolder(stateDir: string): Promise<StackHolder | undefined> {
  const holder = await holderFile.read(stateDir);
  return holder && isAlive(holder.pid) ? holder : undefined;
}

export async function readLiveStack(stateDir: string): Promise<StackRecord | undefined> {
  const record = await readStackRecord(stateDir);
  return record && isAlive(record.pid) ? record : undefined;
}

/** Whether the address is that of the stack's Temporal, which is recorded with 127.0.0.1. */
export function isOfStack({ temporal }: StackRecord, address: string): boolean {
  return byLoopbackNumber(address) === temporal.address;
}
