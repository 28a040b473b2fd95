import { open, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { isLoopback } from '../loopback';
import { isAlive } from './parent-process';

/**
 * The parts of a stack are on its machine, whatever a file that came with a folder says. One that listens for others too is left out where
 * commands do without it.
 */
const ownUrl = z.url({ protocol: /^http$/ }).refine((url) => isLoopback(new URL(url).hostname));

const schema = z.object({
  /** The process that started the stack and stops it. */
  pid: z.int(),
  /** `up`: others may use it; `command`: it ends with the command that started it. */
  startedBy: z.enum(['up', 'command']),
  /** It may be somebody's, and elsewhere, when the stack was started for that one: `requireStackAllowed`. */
  temporal: z.object({ address: z.string(), namespace: z.string(), uiUrl: ownUrl.optional() }),
  service: z.object({ url: ownUrl }),
  callbacks: z.object({ url: ownUrl }).optional().catch(undefined),
  codec: z.object({ url: ownUrl }).optional().catch(undefined),
  taskQueue: z.string(),
});

/** A running stack, as it tells other processes where it is: `<state>/stack.json`. */
export type StackRecord = z.infer<typeof schema>;

function fileOf(stateDir: string): string {
  return path.join(stateDir, 'stack.json');
}

export async function writeStackRecord(stateDir: string, record: StackRecord): Promise<void> {
  const temporary = `${fileOf(stateDir)}.${record.pid}.tmp`;
  const file = await open(temporary, 'w');
  try {
    await file.writeFile(`${JSON.stringify(record, undefined, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, fileOf(stateDir));
}

/** What stands there may be left over from a crash: only who holds the stack's lock is alive. */
export async function readStackRecord(stateDir: string): Promise<StackRecord | undefined> {
  try {
    return schema.parse(JSON.parse(await readFile(fileOf(stateDir), 'utf8')));
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
  await rm(fileOf(stateDir), { force: true });
}
