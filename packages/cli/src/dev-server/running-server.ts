import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemErrorCode } from 'temporal-file-conversion/messages';
import type * as UntilUsable from './until-usable';
import { commandLineOf, isEnding, TemporalServerError } from './processes';

export interface RunningTemporalServer {
  readonly address: string;
  readonly uiUrl?: string | undefined;
  readonly pid: number;
  /** Kills the server. Nothing is lost, since its database is durable once it answers, and a graceful shutdown takes a second. */
  stop(): Promise<void>;
  /** Resolves when the server has ended, for whatever reason; never rejects. */
  readonly exited: Promise<ServerExit>;
}

export interface ServerExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/**
 * Ends the server that a killed process started on this database and left behind. Its state is in the database. Identified by process
 * id and command line, because process ids are reused.
 * @returns whether there was one.
 * @throws TemporalServerError `START_FAILED` if it does not end.
 */
export async function endLeftOverServer(dbFilename: string): Promise<boolean> {
  const pid = readServerPid(dbFilename);
  if (pid === undefined) return false;
  const mark = databaseMark(path.resolve(dbFilename));
  const stillRuns = async () => (await commandLineOf(pid))?.includes(mark) ?? false;
  let isLeft = false;
  const deadline = performance.now() + endTimeoutMs;
  const wait = async () => {
    if (performance.now() > deadline) {
      const problem = `The Temporal server of an earlier start, process ${pid}, does not end, though it was killed. End it, then try again.`;
      throw new TemporalServerError('START_FAILED', problem);
    }
    await sleep(probeDelayMs);
  };
  while (await stillRuns()) {
    isLeft = true;
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if (systemErrorCode(error) !== 'ESRCH') throw error;
    }
    await wait();
  }
  // Until its ports are free: the next server must have the same address. Another process may have its id by then.
  while (isLeft && (await commandLineOf(pid)) === undefined && (await isEnding(pid))) await wait();
  removeServerPid(dbFilename);
  return isLeft;
}

/** Id of the process that serves a database file; stored beside the file for the next start after a crash. */
export function readServerPid(dbFilename: string): number | undefined {
  try {
    // An empty or torn file is from a crash that left no server.
    return Number(readFileSync(pidFile(dbFilename), 'utf8')) || undefined;
  } catch {
    return undefined;
  }
}

/** Synchronous, because a crash between the server's start and this write would lose track of the process. */
export function writeServerPid(dbFilename: string, pid: number): void {
  writeFileSync(pidFile(dbFilename), `${pid}\n`);
}

export function removeServerPid(dbFilename: string): void {
  rmSync(pidFile(dbFilename), { force: true });
}

/** A setting that the server ignores. It marks the command line with the database, whatever folder the server runs in. */
export function databaseMark(dbFilename: string): string {
  return `fileconv.database=${JSON.stringify(dbFilename)}`;
}

function pidFile(dbFilename: string): string {
  return `${path.resolve(dbFilename)}.server.pid`;
}

const probeDelayMs = 20;
/** A killed process may wait for its disk. */
const endTimeoutMs = 30_000;

/** Resolves once the server answers gRPC and has the namespace, with our search attributes and retention (its default is a day). */
export async function untilReady(address: string, namespace: string, signal: AbortSignal): Promise<void> {
  // gRPC waits a second before it retries a refused port; a TCP probe notices the listener at once.
  while (!(await accepts(address))) await sleep(probeDelayMs, undefined, { signal });
  signal.throwIfAborted();
  // Late: until now the processor had better work than to load Temporal's client.
  const { untilUsable } = require('./until-usable') as typeof UntilUsable;
  await untilUsable(address, namespace, signal);
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
