import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { z } from 'zod';
import { commandLineOf, endProcess } from './processes';
import { lengthenRetention } from './retention';

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
  const stillRuns = async () => (await commandLineOf(pid))?.includes(databaseMark(dbFilename)) ?? false;
  if (!(await stillRuns())) return undefined;
  if (!(await answers(address, namespace, answerTimeoutMs))) return undefined;

  const exited = (async (): Promise<ServerExit> => {
    // Not our child: nobody tells us when it ends.
    while (await stillRuns()) await sleep(watchDelayMs, undefined, { ref: false });
    // By now there may be another one, with a record of its own.
    if (readServerRecord(dbFilename)?.pid === pid) removeServerRecord(dbFilename);
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

/** A setting that the server does not know: its command line tells whose it is, whatever folder it runs in. */
export function databaseMark(dbFilename: string): string {
  return `fileconv.database=${JSON.stringify(dbFilename)}`;
}

function recordFile(dbFilename: string): string {
  return `${path.resolve(dbFilename)}.server.json`;
}

interface Readiness {
  address: string;
  namespace: string;
  /** Registered if they are not: name and type, for example `Keyword`. */
  searchAttributes: Readonly<Record<string, string>>;
}

const probeDelayMs = 20;
const callTimeoutMs = 5_000;

const { IndexedValueType } = temporal.api.enums.v1;

/** Resolves when the server answers gRPC, and the namespace is there with its search attributes and our retention: its own is a day. */
export async function untilReady(wanted: Readiness, signal: AbortSignal): Promise<void> {
  // gRPC waits a second before it tries a refused port again; a bare TCP probe notices the listener at once.
  while (!(await accepts(wanted.address))) await sleep(probeDelayMs, undefined, { signal });
  signal.throwIfAborted();
  // Lazy, because what listens there may be anything, and `connect` cannot be given up while it waits.
  const connection = Connection.lazy({ address: wanted.address });
  try {
    await connection.withAbortSignal(signal, async () => {
      while (!(await knowsNamespace(connection, wanted.namespace))) await sleep(probeDelayMs, undefined, { signal });
      await registerMissing(connection, wanted, signal);
      const { workflowService } = connection;
      await connection.withDeadline(Date.now() + callTimeoutMs, () =>
        lengthenRetention({ workflowService, namespace: wanted.namespace }),
      );
    });
  } finally {
    await connection.close();
  }
}

async function answers(address: string, namespace: string, timeoutMs: number): Promise<boolean> {
  try {
    await untilReady({ address, namespace, searchAttributes: {} }, AbortSignal.timeout(timeoutMs));
    return true;
  } catch {
    return false;
  }
}

async function knowsNamespace(connection: Connection, namespace: string): Promise<boolean> {
  try {
    await connection.withDeadline(Date.now() + callTimeoutMs, () =>
      connection.workflowService.describeNamespace({ namespace }),
    );
    return true;
  } catch {
    // The port opens a moment before the services behind it do. The caller's deadline ends this.
    return false;
  }
}

/** The CLI registers attributes only when it makes the database; one that a later version needs is added here. */
async function registerMissing(connection: Connection, wanted: Readiness, signal: AbortSignal): Promise<void> {
  const { namespace } = wanted;
  if (Object.keys(wanted.searchAttributes).length === 0) return;
  const missing = async () => {
    const known = await connection.withDeadline(Date.now() + callTimeoutMs, () =>
      connection.operatorService.listSearchAttributes({ namespace }),
    );
    return Object.entries(wanted.searchAttributes).filter(([name]) => !(name in known.customAttributes));
  };
  const toAdd = await missing();
  if (toAdd.length === 0) return;
  const types = toAdd.map(([name, type]): [string, number] => {
    const spelling = `INDEXED_VALUE_TYPE_${type.replace(/\B[A-Z]/g, '_$&').toUpperCase()}`;
    const value = IndexedValueType[spelling as keyof typeof IndexedValueType] as number | undefined;
    if (value === undefined) throw new Error(`${type} is no type of a search attribute (${name})`);
    return [name, value];
  });
  await connection.withDeadline(Date.now() + callTimeoutMs, () =>
    connection.operatorService.addSearchAttributes({ namespace, searchAttributes: Object.fromEntries(types) }),
  );
  while ((await missing()).length > 0) await sleep(probeDelayMs, undefined, { signal });
}

async function accepts(address: string): Promise<boolean> {
  const { hostname, port } = new URL(`tcp://${address}`);
  return await new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port), timeout: 1_000 });
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => settle(true));
    socket.once('timeout', () => settle(false));
    socket.once('error', () => settle(false));
  });
}
