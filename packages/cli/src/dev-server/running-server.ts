import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { commandLineOf, endProcess } from './processes';
import { answers } from './readiness';

/** A Temporal server that runs on this machine, started or adopted by this process. */
export interface RunningTemporalServer {
  /** Where clients and workers connect: `127.0.0.1:7233`. */
  readonly address: string;
  /** The Temporal UI; absent when it was switched off. */
  readonly uiUrl?: string | undefined;
  readonly pid: number;
  /** Ends the server by its process id and waits until it has ended. A second call changes nothing. */
  stop(): Promise<void>;
  /** Resolves, never rejects, when the server has ended, whoever ended it. */
  readonly exited: Promise<ServerExit>;
}

export interface ServerExit {
  /** `null` when a signal ended it, or when it was adopted: only a parent learns the code. */
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** The server closes its database within about a second (measured: 1.1 s); a busy machine gets more. */
export const stopGraceMs = 10_000;

const answerTimeoutMs = 5_000;
const watchDelayMs = 250;

/**
 * The server that an earlier process started on this database and left behind when it was killed; `undefined` when that
 * process is gone, is another program by now, or does not answer.
 */
export async function adoptTemporalServer(
  options: ServerRecord & { dbFilename: string; namespace?: string },
): Promise<RunningTemporalServer | undefined> {
  const { pid, address, uiUrl, namespace = 'default' } = options;
  const dbFilename = path.resolve(options.dbFilename);
  const stillRuns = async () => (await commandLineOf(pid))?.includes(dbFilename) ?? false;
  if (!(await stillRuns())) return undefined;
  if (!(await answers(address, namespace, answerTimeoutMs))) return undefined;

  const exited = (async (): Promise<ServerExit> => {
    // Not our child: nobody tells us when it ends.
    while (await stillRuns()) await sleep(watchDelayMs, undefined, { ref: false });
    removeServerRecord(dbFilename);
    return { code: null, signal: null };
  })();
  const stop = async () => {
    await endProcess(pid, { graceMs: stopGraceMs, stillRuns });
    removeServerRecord(dbFilename);
  };
  return { address, uiUrl, pid, stop, exited };
}

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
