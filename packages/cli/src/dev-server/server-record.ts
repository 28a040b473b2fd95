import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';

const recordSchema = z.object({ pid: z.number().int().positive(), address: z.string(), uiUrl: z.string().optional() });

/** Which process serves a database file, where. It stands beside the file, for whoever comes after a crash. */
export type ServerRecord = z.infer<typeof recordSchema>;

/** What the last server on this database wrote down; its process may be long gone. */
export function readServerRecord(dbFilename: string): ServerRecord | undefined {
  try {
    return recordSchema.parse(JSON.parse(readFileSync(recordFile(dbFilename), 'utf8')));
  } catch {
    // Never written, or cut short by a crash: there is nothing to adopt then.
    return undefined;
  }
}

/** Synchronous: between the server's start and this line no other code may run, else a crash could lose the process. */
export function writeServerRecord(dbFilename: string, record: ServerRecord): void {
  writeFileSync(recordFile(dbFilename), `${JSON.stringify(record)}\n`);
}

export function removeServerRecord(dbFilename: string): void {
  rmSync(recordFile(dbFilename), { force: true });
}

function recordFile(dbFilename: string): string {
  return `${path.resolve(dbFilename)}.server.json`;
}
