import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { CommandError } from '../command-error';

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
  /** Started again also when it ends by itself with exit code 1 while it starts: what it needs may just be started again too. Default: no. */
  isPatient?: boolean;
}

export interface SupervisedProcess {
  readonly pid: number | undefined;
  /** Asks the process to finish its work, and ends it when that takes too long. */
  stop(): Promise<void>;
}

const startTimeoutMs = 30_000;
const startAttempts = 5;
const defaultStopTimeoutMs = 40_000;
const firstRestartDelayMs = 250;
const maxRestartDelayMs = 10_000;

/**
 * A child process of ours that reports when it is ready, and is started again whenever it ends unasked.
 *
 * The channel between the two also tells the child when this process dies, however it dies: it then ends by itself.
 */
export async function superviseProcess(options: SupervisedProcessOptions): Promise<SupervisedProcess> {
  let stopping = false;
  let child = await start(options);

  const restarts = (async () => {
    for (let failures = 0; ; failures += 1) {
      const startedAt = Date.now();
      await exitOf(child);
      if (isStopping()) return;
      if (Date.now() - startedAt > maxRestartDelayMs) failures = 0;
      const delayMs = Math.min(firstRestartDelayMs * 2 ** failures, maxRestartDelayMs);
      options.onRestart(restartNews(options));
      await sleep(delayMs);
      if (isStopping()) return;
      child = launch(options);
    }
  })();
  function isStopping(): boolean {
    return stopping;
  }
  return {
    get pid() {
      return child.pid;
    },
    async stop() {
      stopping = true;
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

/** What kills a part may hit it while it starts: it is started again then, as it is later. What it says itself keeps it from starting counts. */
async function start(options: SupervisedProcessOptions): Promise<ChildProcess> {
  for (let attempt = 1; ; attempt += 1) {
    const child = launch(options);
    const outcome = await untilReady(child);
    if (outcome === 'ready') return child;
    const wasKilled = child.signalCode !== null;
    if (outcome === 'late') await endChild(child, options);
    const isWorthAnother = outcome === 'ended' && (wasKilled || (options.isPatient === true && child.exitCode === 1));
    if (!isWorthAnother || attempt === startAttempts) throw startFailure(outcome, options);
    options.onRestart(restartNews(options));
    await sleep(firstRestartDelayMs * 2 ** (attempt - 1));
  }
}

async function untilReady(child: ChildProcess): Promise<'ready' | 'ended' | 'late'> {
  return Promise.race([
    new Promise<'ready'>((resolve) => child.once('message', () => resolve('ready'))),
    exitOf(child).then(() => 'ended' as const),
    sleep(startTimeoutMs, 'late' as const, { ref: false }),
  ]);
}

function startFailure(outcome: 'ended' | 'late', { name, logFile }: SupervisedProcessOptions): CommandError {
  const why = outcome === 'late' ? `was not ready after ${startTimeoutMs / 1_000} s` : 'ended while it started';
  return new CommandError('STACK_FAILED', [`The ${name} ${why}: ${lastLine(logFile)} (log: ${logFile})`]);
}

function restartNews({ name, logFile }: SupervisedProcessOptions): string {
  return `The ${name} ended unasked; it is started again (log: ${logFile}).`;
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

/** What the process said last is why it ended. */
function lastLine(file: string): string {
  const line = readFileSync(file, 'utf8').trimEnd().split('\n').at(-1) ?? '';
  return line.replace(/^error: /, '');
}
