import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import { temporalTarget } from '../config/temporal-connection';
import { defaultCacheDir, obtainTemporalCli, portNear, startTemporalServer, TemporalServerError } from '../dev-server';
import type { StartOptions } from '../dev-server';
import { openLogFile } from '../observability/log-file';
import { aborted } from './parent-process';

const firstDelayMs = 250;
const maxDelayMs = 10_000;
const startAttempts = 5;

/** Starts a part for the first time; a start that fails is repeated, after growing pauses, as long as `isWorthAnother` says so. */
export async function startPersistently<Part>(
  start: () => Promise<Part>,
  options: { isWorthAnother: (error: unknown) => boolean; onRestart: () => void; signal?: AbortSignal | undefined },
): Promise<Part> {
  const { isWorthAnother, onRestart, signal } = options;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start();
    } catch (error) {
      if (!isWorthAnother(error) || attempt === startAttempts) throw error;
      onRestart();
      await sleep(firstDelayMs * 2 ** (attempt - 1), undefined, { signal });
    }
  }
}

interface KeptPart<Part> {
  exited: (part: Part) => Promise<unknown>;
  /** Undefined when it could not be started; it is then tried again. */
  startAgain: () => Promise<Part | undefined>;
  /** Called once for each part that has ended. */
  onRestart: () => void;
  /** After a part ran for so long, pauses begin at their shortest again. */
  provenAfterMs: number;
  /** Ends the supervision, not the part. */
  signal: AbortSignal;
}

/** Starts a part again whenever it ends unasked, after pauses that double. */
export async function keepRunning<Part>(first: Part, options: KeptPart<Part>): Promise<void> {
  const { exited, startAgain, onRestart, provenAfterMs, signal } = options;
  // A function, since TypeScript would otherwise narrow `aborted` to false for good.
  const isOver = () => signal.aborted;
  const over = aborted(signal);
  let current: Part | undefined = first;
  let delayMs = firstDelayMs;
  for (;;) {
    const startedAt = performance.now();
    if (current !== undefined) {
      await Promise.race([exited(current), over]);
      if (isOver()) return;
      if (performance.now() - startedAt >= provenAfterMs) delayMs = firstDelayMs;
      onRestart();
    }
    await sleep(delayMs, undefined, { signal }).catch(() => undefined);
    if (isOver()) return;
    current = await startAgain();
    delayMs = Math.min(delayMs * 2, maxDelayMs);
  }
}

function restartNews(part: string, logFile: string): string {
  return `${part} ended unasked; it is started again (log: ${logFile}).`;
}

interface SupervisedProcessOptions {
  /** For messages: `worker`. */
  name: string;
  /** A JavaScript file and its arguments. */
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  logFile: string;
  onRestart: (message: string) => void;
  /** How long it may take to end once it was asked to; then it is killed. Default: 40 seconds. */
  stopTimeoutMs?: number;
  /** Also retry a start that ends with exit code 1: what the process needs may be restarting too. Default: no. */
  isPatient?: boolean;
}

export interface SupervisedProcess {
  readonly pid: number | undefined;
  /** Asks the process to finish its work, and ends it when that takes too long. */
  stop(): Promise<void>;
}

const startTimeoutMs = 30_000;
const defaultStopTimeoutMs = 40_000;

/**
 * A child process of ours that reports when it is ready, and is started again whenever it ends unasked.
 *
 * The IPC channel also tells the child when this process dies, however it dies: the child then ends by itself.
 */
export async function superviseProcess(options: SupervisedProcessOptions): Promise<SupervisedProcess> {
  const stopping = new AbortController();
  const onRestart = () => options.onRestart(restartNews(`The ${options.name}`, options.logFile));
  let child = await startPersistently(() => start(options), {
    isWorthAnother: (error) => error instanceof StartFailure && error.isWorthAnother,
    onRestart,
  });
  const restarts = keepRunning(child, {
    exited: exitOf,
    startAgain: () => Promise.resolve((child = launch(options))),
    onRestart,
    provenAfterMs: maxDelayMs,
    signal: stopping.signal,
  });
  return {
    get pid() {
      return child.pid;
    },
    async stop() {
      stopping.abort();
      await endChild(child, options);
      await restarts;
    },
  };
}

function launch({ args, cwd, env, logFile }: SupervisedProcessOptions): ChildProcess {
  const log = openLogFile(logFile);
  try {
    return spawn(process.execPath, [...args], {
      cwd,
      env: { ...env },
      stdio: ['ignore', log, log, 'ipc'],
      // Ctrl-C at the terminal reaches only this process, which then stops the parts in their order.
      detached: true,
    });
  } finally {
    closeSync(log);
  }
}

async function start(options: SupervisedProcessOptions): Promise<ChildProcess> {
  const { name, logFile, isPatient = false } = options;
  const child = launch(options);
  const outcome = await untilReady(child);
  if (outcome === 'ready') return child;
  const isTransient = child.signalCode !== null || (isPatient && child.exitCode === 1);
  if (outcome === 'late') await endChild(child, options);
  const why = outcome === 'late' ? `was not ready after ${startTimeoutMs / 1_000} s` : 'ended while it started';
  const message = `The ${name} ${why}: ${lastLine(logFile)} (log: ${logFile})`;
  throw new StartFailure(message, outcome === 'ended' && isTransient);
}

class StartFailure extends CommandError {
  constructor(
    message: string,
    readonly isWorthAnother: boolean,
  ) {
    super('STACK_FAILED', [message]);
  }
}

async function untilReady(child: ChildProcess): Promise<'ready' | 'ended' | 'late'> {
  return Promise.race([
    new Promise<'ready'>((resolve) => child.once('message', () => resolve('ready'))),
    exitOf(child).then(() => 'ended' as const),
    sleep(startTimeoutMs, 'late' as const, { ref: false }),
  ]);
}

function exitOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
}

async function endChild(
  child: ChildProcess,
  { stopTimeoutMs = defaultStopTimeoutMs }: SupervisedProcessOptions,
): Promise<void> {
  const exited = exitOf(child);
  child.kill('SIGTERM');
  const timeout = sleep(stopTimeoutMs, 'late' as const, { ref: false });
  if ((await Promise.race([exited, timeout])) === 'late') child.kill('SIGKILL');
  await exited;
}

/** The last line of the log says why the process ended. */
function lastLine(file: string): string {
  const line = readFileSync(file, 'utf8').trimEnd().split('\n').at(-1) ?? '';
  return line.replace(/^error: /, '');
}

/** The Temporal of a stack: one that the user named, or a dev server of our own. */
export interface TemporalPart {
  readonly address: string;
  readonly namespace: string;
  readonly uiUrl?: string | undefined;
  stop(): Promise<void>;
}

interface SuperviseTemporalOptions {
  dbFilename: string;
  logFile: string;
  port: number;
  /** `false`: no UI. */
  uiPort: number | false;
  /** For the UI. */
  uiCodecEndpoint: string | undefined;
  /** Ends the start; not what has started. */
  signal: AbortSignal | undefined;
}

/**
 * Temporal for a stack. A server of our own is started again at the same address, with its database, whenever it ends unasked.
 * @throws TemporalServerError when it can't be obtained or started.
 */
export async function superviseTemporal(
  context: CommandContext,
  { port, uiPort, ...options }: SuperviseTemporalOptions,
): Promise<TemporalPart> {
  const { connection, namespace, isNamed } = temporalTarget(context);
  if (isNamed) return { address: connection.address, namespace, stop: () => Promise.resolve() };
  const { env, homeDir, output } = context;
  const { logFile, signal } = options;
  const start = async (ports: Pick<StartOptions, 'port' | 'uiPort' | 'signal'>) => {
    const onProgress = (message: string) => output.say(message);
    const cli = await obtainTemporalCli({ env, cacheDir: defaultCacheDir(env, homeDir), onProgress, signal });
    return startTemporalServer({
      ...options,
      ...ports,
      cliPath: cli.path,
      env,
      namespace,
      ownProcessGroup: true,
    });
  };
  const startFirst = async () => {
    try {
      return await start({ port, uiPort });
    } catch (error) {
      // Another program may take a port before the server does; then any two free ports will do.
      const [portNow, uiPortNow] = [await portNear(port), uiPort && (await portNear(uiPort))];
      if (!(error instanceof TemporalServerError) || (portNow === port && uiPortNow === uiPort)) throw error;
      return start(uiPort === false ? { uiPort } : {});
    }
  };
  const onRestart = () => output.warn(restartNews('Temporal', logFile));
  let server = await startPersistently(startFirst, {
    // It may be killed while it starts, too.
    isWorthAnother: (error) => error instanceof TemporalServerError && error.code === 'START_KILLED',
    onRestart,
    signal,
  });
  const { address, uiUrl } = server;
  const stopping = new AbortController();
  const startAgain = async () => {
    const ports = { port: portOf(`http://${address}`), uiPort: uiUrl === undefined ? (false as const) : portOf(uiUrl) };
    try {
      server = await start({ ...ports, signal: stopping.signal });
      if (stopping.signal.aborted) await server.stop();
      return server;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (!stopping.signal.aborted) output.warn(`Temporal could not be started again: ${reason}`);
      return undefined;
    }
  };
  const restarts = keepRunning(server, {
    exited: ({ exited }) => exited,
    startAgain,
    onRestart,
    // A server that could be started has all that it needs.
    provenAfterMs: 0,
    signal: stopping.signal,
  });
  return {
    address,
    namespace,
    uiUrl,
    async stop() {
      stopping.abort();
      await restarts;
      await server.stop();
    },
  };
}

export function portOf(url: string): number {
  return Number(new URL(url).port);
}
