import { spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtemp, open, readFile, rename, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { types } from 'node:util';
import { searchAttributeTypes } from 'temporal-file-conversion/job';
import { shellWord } from 'temporal-file-conversion/messages';
import { makeFolder } from 'temporal-file-conversion/storage';
import { TemporalServerError, type Variables } from './processes';
import { databaseMark, endLeftOverServer, removeServerPid, untilReady, writeServerPid } from './running-server';
import type { RunningTemporalServer, ServerExit } from './running-server';

export interface ServerOptions {
  cliPath: string;
  /** Environment of the server process. `GOGC` and `GOMEMLIMIT` in it override ours. */
  env: Variables;
  /** Keeps the state across restarts. Default: in memory, lost when the server ends. */
  dbFilename?: string | undefined;
  /** `off`: a power cut may corrupt the database, which a benchmark can afford. Default `full`. */
  synchronous?: 'full' | 'off' | undefined;
  /** Default: a free port. */
  port?: number | undefined;
  /** `false`: no UI. Default: a free port. */
  uiPort?: number | false | undefined;
  /** URL of the codec server that decrypts payloads for the UI. Default: none. */
  uiCodecEndpoint?: string | undefined;
  /** Default `default`. */
  namespace?: string | undefined;
  /** Dynamic configuration that adds to or overrides ours: names, and values as JSON. */
  dynamicConfig?: Readonly<Record<string, string>> | undefined;
  /** Default: a temporary file that is removed when the server stops. */
  logFile?: string | undefined;
  /** Called once the server process has started, before it answers. */
  onSpawn?: (() => void) | undefined;
  /** Aborts the start; has no effect on a server that has started. */
  signal?: AbortSignal | undefined;
  /** Time limit of the start. Default 60,000. */
  timeoutMs?: number | undefined;
  /**
   * `true`: its own process group, so that Ctrl-C at the terminal reaches only this process, which can let its worker
   * finish before it calls `stop()`. Default `false`: Ctrl-C ends the server too.
   */
  ownProcessGroup?: boolean | undefined;
}

const ip = '127.0.0.1';
const startAttempts = 3;
const panic = /^\s*(panic|fatal error): /m;
const defaultStartTimeoutMs = 60_000;

/**
 * A Temporal dev server that answers and knows our search attributes. It runs until `stop()` or the end of this process; if that is
 * killed, until the next start on its database. The caller must hold a lock, so that no other process runs a server there.
 *
 * @throws TemporalServerError `START_FAILED`, with the last lines of the server's log, if it ends or does not answer.
 */
export async function startTemporalServer(options: ServerOptions): Promise<RunningTemporalServer> {
  const { dbFilename } = options;
  if (dbFilename !== undefined) {
    await makeFolder(path.dirname(path.resolve(dbFilename)));
    await endLeftOverServer(dbFilename);
  }
  for (let attempt = 1; ; attempt += 1) {
    await refuseTakenPorts(options);
    try {
      return await startOnce(options);
    } catch (error) {
      if (!(error instanceof TemporalServerError) || attempt === startAttempts) throw error;
      // Another program can take the port that we chose before the server binds it. The server also chooses internal ports, which
      // another server may choose at the same time, and panics if it gets none.
      if (!error.message.includes('address already in use') && !panic.test(error.message)) throw error;
    }
  }
}

/** Checked first, because a program that listens but speaks no gRPC would block the readiness check. */
async function refuseTakenPorts({ port, uiPort }: ServerOptions): Promise<void> {
  for (const wanted of [port, uiPort]) {
    if (wanted === undefined || wanted === false || (await isPortFree(wanted))) continue;
    throw new TemporalServerError(
      'START_FAILED',
      `Port ${wanted} of ${ip}, which the Temporal server is to use, is taken. End the program that listens there, or choose another port.`,
    );
  }
}

async function startOnce(options: ServerOptions): Promise<RunningTemporalServer> {
  options.signal?.throwIfAborted();
  const port = options.port ?? (await freePort());
  const uiPort = options.uiPort ?? (await freePort());
  const dbFilename = options.dbFilename === undefined ? undefined : path.resolve(options.dbFilename);
  const address = `${ip}:${port}`;
  const uiUrl = uiPort === false ? undefined : `http://${ip}:${uiPort}`;
  const log = await openServerLog(options.logFile);

  // A bare name is looked up on PATH; a path is relative to this process, not to the database's folder.
  const program = options.cliPath.includes(path.sep) ? path.resolve(options.cliPath) : options.cliPath;
  // The database holds file names and failures, so only its owner may read it. By umask, because the server must create it itself.
  const umask = process.umask(0o077);
  const child = spawn(program, argumentsOf(options, { port, uiPort, dbFilename }), {
    stdio: ['ignore', log.handle.fd, log.handle.fd],
    detached: options.ownProcessGroup ?? false,
    ...(dbFilename !== undefined && { cwd: path.dirname(dbFilename) }),
    // The server does not start if the user has no name, as in a container.
    env: { ...goRuntime, USER: 'fileconv', ...options.env },
  });
  process.umask(umask);
  if (child.pid !== undefined && dbFilename !== undefined) {
    writeServerPid(dbFilename, child.pid);
  }
  options.onSpawn?.();
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const exited = whenExited(child).then((exit) => {
    process.off('exit', kill);
    if (dbFilename !== undefined) removeServerPid(dbFilename);
    return exit;
  });
  const stop = async () => {
    kill();
    await exited;
    await log.dispose();
  };
  try {
    await log.handle.close();
    await untilStarted(options, { address, exited, log });
  } catch (error) {
    await stop();
    throw error;
  }
  return { address, uiUrl, pid: child.pid ?? 0, stop, exited };
}

/** Dynamic configuration of the dev server: names, and values as JSON. */
const dynamicConfig = {
  // The server's HTTP API on a random port would let any web page start jobs. No host has this name.
  'frontend.httpAllowedHosts': '["nobody.invalid"]',
  // The query for due timers rereads those not yet deleted. The server deletes every 30 s, and later while its polls are
  // rate-limited: under load each of 16 queries a second then takes 15 ms.
  'history.timerProcessorUpdateAckInterval': '"1s"',
  'history.timerProcessorMaxPollRPS': 60,
  // By default timers are checked once a second, so a retry after 50 ms would come after a second.
  'history.timerProcessorMaxTimeShift': '"10ms"',
  // The default keeps 128,000 workflows in memory, most of them ended.
  'history.hostLevelCacheMaxSize': 2_000,
  // Off by default: ten jobs of one app would wait for hundreds of another.
  'matching.enableFairness': true,
  // By default a task queue has four partitions, which forward tasks to each other and each count the rate limit alone.
  'matching.numTaskqueueReadPartitions': 1,
  'matching.numTaskqueueWritePartitions': 1,
  // Off by default: lets programs call the Nexus service without a workflow (examples/standalone-nexus).
  'nexusoperation.enableStandalone': true,
};

/** Fewer garbage collections, a third of the default, up to a heap of half a gibibyte. */
const goRuntime = { GOGC: '300', GOMEMLIMIT: '512MiB' };

function argumentsOf(
  options: ServerOptions,
  chosen: { port: number; uiPort: number | false; dbFilename: string | undefined },
): string[] {
  const args = ['server', 'start-dev', '--ip', ip, '--port', String(chosen.port)];
  args.push(...(chosen.uiPort === false ? ['--headless'] : ['--ui-port', String(chosen.uiPort)]));
  if (chosen.dbFilename !== undefined) {
    // WAL is as durable as the default rollback journal and twice as fast. `synchronous` stays full: if a power cut undid an
    // acknowledged history event, a submit could be repeated and paid twice.
    // Only the file name, since the server runs in the folder: it parses this as a URI, where %, # and ? have other meanings.
    args.push('--db-filename', path.basename(chosen.dbFilename), '--sqlite-pragma', 'journal_mode=WAL');
    args.push('--dynamic-config-value', databaseMark(chosen.dbFilename));
    if (options.synchronous === 'off') args.push('--sqlite-pragma', 'synchronous=off');
  }
  const settings = Object.entries({ ...dynamicConfig, ...options.dynamicConfig });
  for (const [name, value] of settings) args.push('--dynamic-config-value', `${name}=${value}`);
  if (options.uiCodecEndpoint !== undefined) args.push('--ui-codec-endpoint', options.uiCodecEndpoint);
  if (options.namespace !== undefined) args.push('--namespace', options.namespace);
  for (const [name, type] of Object.entries(searchAttributeTypes)) {
    args.push('--search-attribute', `${name}=${type}`);
  }
  return args;
}

async function untilStarted(
  options: ServerOptions,
  server: { address: string; exited: Promise<ServerExit>; log: ServerLog },
): Promise<void> {
  const timeoutMs = options.timeoutMs ?? defaultStartTimeoutMs;
  const settled = new AbortController();
  const timeout = AbortSignal.timeout(timeoutMs);
  const signals = [settled.signal, timeout, ...(options.signal ? [options.signal] : [])];
  // Raced as values, so that the loser does not become an unhandled rejection.
  const ready = untilReady(server.address, options.namespace ?? 'default', AbortSignal.any(signals)).then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  const failed = await Promise.race([ready, server.exited.then((exit) => ({ exit }))]);
  settled.abort();
  if (!failed) return;
  options.signal?.throwIfAborted();
  const lines = await server.log.tail();
  const damage = damaged.exec(lines.join('\n'))?.[0];
  if (damage !== undefined && options.dbFilename !== undefined) throw databaseDamaged(options.dbFilename, damage);
  const tail = lines.map((line) => `  ${line}`);
  if ('exit' in failed) {
    const { code, signal } = failed.exit;
    const how = signal === null ? `with code ${code ?? 'unknown'}` : `by ${signal}`;
    throw new TemporalServerError(
      'START_FAILED',
      [`The Temporal server (${options.cliPath}) ended ${how} while it started:`, ...tail].join('\n'),
    );
  }
  const what = timeout.aborted
    ? `did not answer on ${server.address} in ${timeoutMs / 1000} s`
    : `started but is not usable: ${types.isNativeError(failed.error) ? failed.error.message : String(failed.error)}`;
  const problem = [`The Temporal server (${options.cliPath}) ${what}:`, ...tail].join('\n');
  throw new TemporalServerError('START_FAILED', problem, { cause: failed.error });
}

/** SQLite's message about a file that is not a database, or is damaged. */
const damaged = /file is not a database|database disk image is malformed|malformed database schema|no such table/;

function databaseDamaged(dbFilename: string, reason: string): TemporalServerError {
  const file = path.resolve(dbFilename);
  const aside = path.join(path.dirname(file), 'damaged');
  return new TemporalServerError(
    'DATABASE_DAMAGED',
    `Temporal can't use its database ${file} (${reason}). Put a backup in its place; or begin without the jobs that it holds: mkdir -p ${shellWord(aside)} && mv ${shellWord(file)}* ${shellWord(aside)}`,
  );
}

async function whenExited(child: ChildProcess): Promise<ServerExit> {
  return await new Promise((resolve) => {
    // If the binary can't be started, 'error' comes without 'exit'.
    child.once('error', () => child.pid === undefined && resolve({ code: null, signal: null }));
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
}

type ServerLog = Awaited<ReturnType<typeof openServerLog>>;

const tailLines = 8;

/**
 * The file for a server's output. Not a pipe, because the server may outlive us, and a pipe without a reader would end it. The log of
 * the previous run is kept as `<file>.previous`; without `wanted`, the file is temporary and removed with the server.
 */
async function openServerLog(wanted?: string) {
  const folder = wanted === undefined ? await mkdtemp(path.join(os.tmpdir(), 'temporal-server-')) : undefined;
  const file = wanted ?? path.join(folder ?? '', 'temporal.log');
  await makeFolder(path.dirname(file));
  await rename(file, `${file}.previous`).catch(() => undefined);
  // Exclusive, so that no link is followed.
  const handle = await open(file, 'ax', 0o600);
  return {
    handle,
    async tail(): Promise<string[]> {
      const text = await readFile(file, 'utf8').catch(() => '');
      const lines = text.split('\n').filter((line) => line.trim() !== '');
      // A panic's reason is above its stack.
      const panicked = lines.findIndex((line) => panic.test(line));
      return panicked === -1 ? lines.slice(-tailLines) : lines.slice(panicked, panicked + tailLines);
    },
    async dispose(): Promise<void> {
      await handle.close();
      if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Ports already chosen in this process: no two parts of a stack get the same one, even before anything listens. */
const chosen = new Set<number>();

/** Below the ephemeral ports of the systems, so that a chosen port stays free until it is used. */
const [firstPort, endOfPorts] = [12_000, 30_000];

/**
 * A port of 127.0.0.1 on which nothing listens now. Another process may take it before it is used, so the caller must be ready to
 * try another.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const port = randomInt(firstPort, endOfPorts);
    if (chosen.has(port)) continue;
    try {
      await listenBriefly(port);
    } catch (error) {
      if (attempt < 1_000) continue;
      throw error;
    }
    chosen.add(port);
    return port;
  }
}

async function isPortFree(port: number): Promise<boolean> {
  return listenBriefly(port).then(
    () => true,
    () => false,
  );
}

/** `preferred`, or another port if something listens there. */
export async function portNear(preferred: number): Promise<number> {
  if (!(await isPortFree(preferred))) return freePort();
  chosen.add(preferred);
  return preferred;
}

async function listenBriefly(port: number): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  await new Promise((resolve) => server.close(resolve));
}
