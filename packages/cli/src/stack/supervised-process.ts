import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { CommandError } from '../command-error';
import { keepRunning, maxDelayMs, restartNews, startPersistently } from './restarting';

interface SupervisedProcessOptions {
  /** For messages: `worker`. */
  name: string;
  /** A JavaScript file and its arguments. */
  args: readonly string[];
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

function launch({ args, env, logFile }: SupervisedProcessOptions): ChildProcess {
  const log = openSync(logFile, 'a');
  try {
    return spawn(process.execPath, [...args], {
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
  const child = launch(options);
  const outcome = await untilReady(child);
  if (outcome === 'ready') return child;
  const wasKilled = child.signalCode !== null;
  if (outcome === 'late') await endChild(child, options);
  throw new StartFailure(outcome, wasKilled || (options.isPatient === true && child.exitCode === 1), options);
}

class StartFailure extends CommandError {
  readonly isWorthAnother: boolean;

  /** @param isTransient whether a process that ended may start at the next attempt. */
  constructor(outcome: 'ended' | 'late', isTransient: boolean, { name, logFile }: SupervisedProcessOptions) {
    const why = outcome === 'late' ? `was not ready after ${startTimeoutMs / 1_000} s` : 'ended while it started';
    super('STACK_FAILED', [`The ${name} ${why}: ${lastLine(logFile)} (log: ${logFile})`]);
    this.isWorthAnother = outcome === 'ended' && isTransient;
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
