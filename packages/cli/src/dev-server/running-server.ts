import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { registerSearchAttributes } from 'temporal-file-conversion/client';
import { systemErrorCode } from 'temporal-file-conversion/messages';
import { commandLineOf } from './processes';
import { lengthenRetention } from './retention';

export interface RunningTemporalServer {
  readonly address: string;
  readonly uiUrl?: string | undefined;
  readonly pid: number;
  /** Kills the server: its database is as durable as its answers, and to end by itself would take it a second. */
  stop(): Promise<void>;
  /** Resolves, never rejects, when the server has ended, whoever ended it. */
  readonly exited: Promise<ServerExit>;
}

export interface ServerExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/**
 * Ends the server that an earlier process started on this database and left behind when it was killed. Its state is in the database.
 * It is known by its process id and its command line, since ids are given out again.
 * @returns whether there was one.
 */
export async function endLeftOverServer(dbFilename: string): Promise<boolean> {
  const pid = readServerPid(dbFilename);
  if (pid === undefined) return false;
  const mark = databaseMark(path.resolve(dbFilename));
  const stillRuns = async () => (await commandLineOf(pid))?.includes(mark) ?? false;
  let isLeft = false;
  while (await stillRuns()) {
    isLeft = true;
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if (systemErrorCode(error) !== 'ESRCH') throw error;
    }
    await sleep(probeDelayMs);
  }
  removeServerPid(dbFilename);
  return isLeft;
}

/** Which process serves a database file: it stands beside the file, for whoever comes after a crash. */
export function readServerPid(dbFilename: string): number | undefined {
  try {
    // Never written, or cut short by a crash: nothing is left over then.
    return Number(readFileSync(pidFile(dbFilename), 'utf8')) || undefined;
  } catch {
    return undefined;
  }
}

/** Synchronous: between the server's start and this line no other code may run, else a crash could lose the process. */
export function writeServerPid(dbFilename: string, pid: number): void {
  writeFileSync(pidFile(dbFilename), `${pid}\n`);
}

export function removeServerPid(dbFilename: string): void {
  rmSync(pidFile(dbFilename), { force: true });
}

/** A setting that the server does not know: its command line tells whose it is, whatever folder it runs in. */
export function databaseMark(dbFilename: string): string {
  return `fileconv.database=${JSON.stringify(dbFilename)}`;
}

function pidFile(dbFilename: string): string {
  return `${path.resolve(dbFilename)}.server.pid`;
}

const probeDelayMs = 20;
const callTimeoutMs = 5_000;

/** Resolves when the server answers gRPC and the namespace is there, with our search attributes and retention: its own is a day. */
export async function untilReady(address: string, namespace: string, signal: AbortSignal): Promise<void> {
  // gRPC waits a second before it tries a refused port again; a bare TCP probe notices the listener at once.
  while (!(await accepts(address))) await sleep(probeDelayMs, undefined, { signal });
  signal.throwIfAborted();
  // Lazy, because what listens there may be anything, and `connect` cannot be given up while it waits.
  // Nor through a proxy, which gRPC takes for the whole of the network: it is on this machine.
  const connection = Connection.lazy({ address, channelArgs: { 'grpc.enable_http_proxy': 0 } });
  try {
    await connection.withAbortSignal(signal, async () => {
      while (!(await knowsNamespace(connection, namespace))) await sleep(probeDelayMs, undefined, { signal });
      await registerSearchAttributes(new Client({ connection, namespace }));
      const { workflowService } = connection;
      await connection.withDeadline(Date.now() + callTimeoutMs, () =>
        lengthenRetention({ workflowService, namespace }),
      );
    });
  } finally {
    await connection.close();
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
