import { spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtemp, open, readFile, rename, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { types } from 'node:util';
import { searchAttributeTypes } from 'temporal-file-conversion/client';
import { shellWord } from 'temporal-file-conversion/messages';
import { makeFolder } from 'temporal-file-conversion/storage';
import { TemporalServerError, type Variables } from './processes';
import { databaseMark, endLeftOverServer, removeServerPid, untilReady, writeServerPid } from './running-server';
import type { RunningTemporalServer, ServerExit } from './running-server';

export interface ServerOptions {
  cliPath: string;
  /** Variables of the server's process. Its `GOGC` and `GOMEMLIMIT`, if given, replace ours. */
  env: Variables;
  /** State is kept here over restarts. Default: in memory, gone when the server ends. */
  dbFilename?: string | undefined;
  /** `off`: a power cut may cost the database, as it may that of a benchmark. Default `full`. */
  synchronous?: 'full' | 'off' | undefined;
  /** Default: a free one. */
  port?: number | undefined;
  /** `false`: no UI. Default: a free one. */
  uiPort?: number | false | undefined;
  /** The codec server that decrypts payloads for the UI. Default: none. */
  uiCodecEndpoint?: string | undefined;
  /** Default `default`. */
  namespace?: string | undefined;
  /** Settings of the server beside ours: names, and values as JSON. */
  dynamicConfig?: Readonly<Record<string, string>> | undefined;
  /** Default: a temporary file that is removed with the server. */
  logFile?: string | undefined;
  /** Called when the server's process has been started, which does not answer yet. */
  onSpawn?: (() => void) | undefined;
  /** Ends a start under way; it does not end a server that has started. */
  signal?: AbortSignal | undefined;
  /** How long a start may take. Default 60,000. */
  timeoutMs?: number | undefined;
  /**
   * `true`: a process group of its own, so that Ctrl-C at the terminal reaches only this process, which can then let its
   * worker finish before it calls `stop()`. Default `false`: Ctrl-C ends the server too.
   */
  ownProcessGroup?: boolean | undefined;
}

const ip = '127.0.0.1';
const startAttempts = 3;
const panic = /^\s*(panic|fatal error): /m;
const defaultStartTimeoutMs = 60_000;

/**
 * A Temporal dev server that answers and knows our search attributes. It runs until `stop()`, also beyond this process when that one is
 * killed: the next start on its database ends it. Whoever starts one holds a lock, so that no other process has one there.
 *
 * @throws TemporalServerError `START_FAILED`, with the last lines of the server's log, when it ends or does not answer.
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
      // A port that we chose ourselves can be taken by somebody else before the server binds it. The server chooses some for its parts
      // too, which another server may choose at the same time, and panics when it finds none.
      if (!error.message.includes('address already in use') && !panic.test(error.message)) throw error;
    }
  }
}

/** Asked beforehand: a program that listens but speaks no gRPC would keep the check of readiness waiting. */
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

  // A bare name is looked for on PATH; any other is meant from here, not from the database's folder.
  const program = options.cliPath.includes(path.sep) ? path.resolve(options.cliPath) : options.cliPath;
  // The database holds names of files, and failures: for its owner alone. The server makes it, and takes no file that is there already.
  const umask = process.umask(0o077);
  const child = spawn(program, argumentsOf(options, { port, uiPort, dbFilename }), {
    stdio: ['ignore', log.handle.fd, log.handle.fd],
    detached: options.ownProcessGroup ?? false,
    ...(dbFilename !== undefined && { cwd: path.dirname(dbFilename) }),
    // It does not start for a user whom the system can't name, as in a container.
    env: { ...goRuntime, USER: 'fileconv', ...options.env },
  });
  process.umask(umask);
  if (child.pid !== undefined && dbFilename !== undefined) {
    writeServerPid(dbFilename, child.pid);
  }
  options.onSpawn?.();
  const exited = whenExited(child).then((exit) => {
    if (dbFilename !== undefined) removeServerPid(dbFilename);
    return exit;
  });
  const stop = async () => {
    child.kill('SIGKILL');
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
  // It has an HTTP API on a random port beside gRPC, which any web page could ask to start jobs. No host of this name exists.
  'frontend.httpAllowedHosts': '["nobody.invalid"]',
  // Its query for due timers reads again whatever is due and not yet deleted. It deletes every 30 s, and later than that while it may
  // not ask for more: under load each of 16 queries a second then takes 15 ms.
  'history.timerProcessorUpdateAckInterval': '"1s"',
  'history.timerProcessorMaxPollRPS': 60,
  // Without it the server looks after its timers once a second, so that a retry after 50 ms comes after a second.
  'history.timerProcessorMaxTimeShift': '"10ms"',
  // It keeps 128,000 workflows in memory by default, of which most have ended.
  'history.hostLevelCacheMaxSize': 2_000,
  // It ignores fairness keys unless told: ten jobs of one app then wait for the hundreds of another.
  'matching.enableFairness': true,
  // Of the four parts that a task queue has by default, each takes turns and counts its rate limit by itself, and hands on to the others.
  'matching.numTaskqueueReadPartitions': 1,
  'matching.numTaskqueueWritePartitions': 1,
  // Programs may call the Nexus service without a workflow (examples/standalone-nexus): off by default.
  'nexusoperation.enableStandalone': true,
};

/** The server collects its garbage a third as often as by default, until it has taken half a gibibyte. */
const goRuntime = { GOGC: '300', GOMEMLIMIT: '512MiB' };

function argumentsOf(
  options: ServerOptions,
  chosen: { port: number; uiPort: number | false; dbFilename: string | undefined },
): string[] {
  const args = ['server', 'start-dev', '--ip', ip, '--port', String(chosen.port)];
  args.push(...(chosen.uiPort === false ? ['--headless'] : ['--ui-port', String(chosen.uiPort)]));
  if (chosen.dbFilename !== undefined) {
    // As durable as the rollback journal that is the default, at twice the speed. `synchronous` stays full: an acknowledged history
    // event that a power cut takes back could lead to a second, paid submit.
    // Only its name, since the server runs in its folder: it takes this for a URI, in which %, # and ? of a path mean something else.
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
  // Both are raced as values: the one that loses must not end as an unhandled rejection.
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
    // 'error' comes alone when the binary cannot be started at all.
    child.once('error', () => child.pid === undefined && resolve({ code: null, signal: null }));
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
}

type ServerLog = Awaited<ReturnType<typeof openServerLog>>;

const tailLines = 8;

/**
 * Where a server's output goes. A file, not a pipe: the server may outlive us, and a pipe without a reader ends it. The log of the run
 * before stays beside it as `<file>.previous`; without a wanted file there is one that goes with the server.
 */
async function openServerLog(wanted?: string) {
  const folder = wanted === undefined ? await mkdtemp(path.join(os.tmpdir(), 'temporal-server-')) : undefined;
  const file = wanted ?? path.join(folder ?? '', 'temporal.log');
  await makeFolder(path.dirname(file));
  await rename(file, `${file}.previous`).catch(() => undefined);
  // Exclusively, so that no link is followed.
  const handle = await open(file, 'ax', 0o600);
  return {
    handle,
    async tail(): Promise<string[]> {
      const text = await readFile(file, 'utf8').catch(() => '');
      const lines = text.split('\n').filter((line) => line.trim() !== '');
      // The reason is above the stack.
      const panicked = lines.findIndex((line) => panic.test(line));
      return panicked === -1 ? lines.slice(-tailLines) : lines.slice(panicked, panicked + tailLines);
    },
    async dispose(): Promise<void> {
      await handle.close();
      if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Ports that were chosen in this process: two parts of a stack never get the same one, though nothing listens there yet. */
const chosen = new Set<number>();

/** Below the ports that systems give to connections, and to whoever listens anywhere: there one stays free until it is used. */
const [firstPort, endOfPorts] = [12_000, 30_000];

/**
 * A port of 127.0.0.1 on which nothing listens now. Another process can take it before it is used: whoever uses it must
 * be ready to try another one.
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

/** `preferred`, or another port when something listens there. */
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
