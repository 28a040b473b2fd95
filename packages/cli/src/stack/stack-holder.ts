import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { isAlive } from './parent-process';

const schema = z.object({ pid: z.int(), startedBy: z.enum(['up', 'command']), since: z.iso.datetime() });

/** Who holds the lock of a stack, also while it still starts: `<state>/stack-holder.json`. */
export type StackHolder = z.infer<typeof schema>;

function fileOf(stateDir: string): string {
  return path.join(stateDir, 'stack-holder.json');
}

/** To be called by whoever has just got the lock. */
export async function writeStackHolder(stateDir: string, startedBy: StackHolder['startedBy']): Promise<void> {
  const holder: StackHolder = { pid: process.pid, startedBy, since: new Date().toISOString() };
  const temporary = `${fileOf(stateDir)}.${process.pid}.tmp`;
  await writeFile(temporary, `${JSON.stringify(holder)}\n`);
  await rename(temporary, fileOf(stateDir));
}

/** Undefined when nobody has said so, or when who has is dead. */
export async function readStackHolder(stateDir: string): Promise<StackHolder | undefined> {
  try {
    const holder = schema.parse(JSON.parse(await readFile(fileOf(stateDir), 'utf8')));
    return isAlive(holder.pid) ? holder : undefined;
  } catch {
    return undefined;
  }
}

export async function removeStackHolder(stateDir: string): Promise<void> {
  await rm(fileOf(stateDir), { force: true });
}
