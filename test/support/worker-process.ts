import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { stubAppId, stubToken } from './stub-service';
import { testTemporalAddress } from './temporal';
import { until } from './until';

const builtMain = path.resolve(__dirname, '../../packages/cli/dist/main.js');
const holdingWorker = path.resolve(__dirname, 'holding-worker.mjs');
const endWithParent = path.resolve(__dirname, 'end-with-parent.mjs');

/** A point at which a holding worker hangs, since a signal could not hit it reliably. */
export type HoldingPoint =
  /** The submit has begun, but nothing was sent. */
  | 'beforeFence'
  /** As before, in the second attempt of the submit. */
  | 'beforeSecondFence'
  /** The output has both its final and its temporary name. */
  | 'betweenNames'
  /** The output is in place, but Temporal does not know. */
  | 'afterCommit';

export interface WorkerProcessOptions {
  taskQueue: string;
  /** The worker's own folder for configuration, state and log. */
  folder: string;
  /** Base URLs by app profile. */
  apps: Readonly<Record<string, string>>;
  token?: string;
  /** Default: no callbacks. */
  callbacks?: { key: string; publicBaseUrl: string };
  /** Default: no metrics. */
  metricsAddress?: string;
  /** Additional environment variables. */
  env?: Readonly<Record<string, string>>;
  /** Default: the server of this jest run. */
  temporalAddress?: string;
  /** Where to hold the jobs of each app profile. Default: nowhere, with `fileconv worker` itself. */
  hold?: Readonly<Record<string, HoldingPoint>>;
  /** Default: this machine. */
  machine?: Machine;
}

/** Simulates another machine: a separate host name and mounts. Only for root; see `canBeMachines`. */
export interface Machine {
  host: string;
  /** Folders that are empty on the simulated machine. */
  ownFolders: readonly string[];
}

const asMachine =
  'host=$1; shift; until [ "$1" = -- ]; do mount -t tmpfs tmpfs "$1" || exit 1; shift; done; shift; hostname "$host" && exec "$@"';

/** Whether this user may create mounts and host names for a process. */
export const canBeMachines = (): boolean => spawnSync('unshare', ['--mount', '--uts', 'true']).status === 0;

/** A worker in a separate process (`npm run build`), so that it can be killed. */
export class WorkerProcess {
  readonly logFile: string;
  readonly #child: ChildProcess;
  readonly #held = new Set<string>();

  private constructor(child: ChildProcess, logFile: string) {
    this.#child = child;
    this.logFile = logFile;
    child.on('message', (message) => {
      if (typeof message === 'object' && 'held' in message) this.#held.add(String(message.held));
    });
  }

  /** Resolves when the worker polls. */
  static async start(options: WorkerProcessOptions): Promise<WorkerProcess> {
    const logFile = path.join(options.folder, `worker-${options.hold ? 'holding' : 'plain'}.log`);
    const log = openSync(logFile, 'a');
    const before = readFileSync(logFile, 'utf8').length;
    const { machine } = options;
    const program = options.hold ? [holdingWorker] : ['--import', endWithParent, builtMain, 'worker'];
    const command = [process.execPath, ...program];
    const elsewhere = machine
      ? ['unshare', '--mount', '--uts', 'sh', '-c', asMachine, 'sh', machine.host, ...machine.ownFolders, '--']
      : [];
    const [file = '', ...args] = [...elsewhere, ...command];
    const child = spawn(file, args, {
      cwd: options.folder,
      env: { ...process.env, ...variables(options), ...options.env },
      stdio: ['ignore', log, log, 'ipc'],
    });
    closeSync(log);
    const worker = new WorkerProcess(child, logFile);
    let isReady = false;
    child.once('message', () => (isReady = true));
    const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
    const polls = () => readFileSync(logFile, 'utf8').slice(before).includes('Worker on task queue');
    await until('the worker polls', () => hasEnded() || (options.hold ? isReady : polls()));
    if (hasEnded()) throw new Error(`The worker ended while it started: ${readFileSync(logFile, 'utf8')}`);
    return worker;
  }

  /** The contents of a folder as this worker sees it. */
  list(folder: string): string[] {
    return readdirSync(`/proc/${this.#child.pid}/root${folder}`);
  }

  /** Whether the job of this app has reached its holding point. */
  isHolding(app: string): boolean {
    return this.#held.has(app);
  }

  /** Stops the worker gracefully. */
  async drain(): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await exited;
  }

  /** SIGSTOP: suspends the process, like a closed laptop. */
  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  /** `kill -9`. Idempotent. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}

function variables(options: WorkerProcessOptions) {
  const { taskQueue, folder, apps, token, callbacks, metricsAddress, temporalAddress, hold } = options;
  const profiles = Object.entries(apps).flatMap(([name, baseUrl]) => {
    const prefix = `FILECONV_APPS_${name.toUpperCase().replaceAll('-', '_')}`;
    return [
      [`${prefix}_BASE_URL`, baseUrl],
      [`${prefix}_APP_ID`, stubAppId],
      [`${prefix}_TOKEN`, token ?? stubToken],
    ];
  });
  return {
    ...(Object.fromEntries(profiles) as Record<string, string>),
    TEMPORAL_ADDRESS: temporalAddress ?? testTemporalAddress(),
    FILECONV_WORKER_TASK_QUEUE: taskQueue,
    FILECONV_STATE_DIR: path.join(folder, '.fileconv'),
    ...(metricsAddress !== undefined && { FILECONV_WORKER_METRICS_ADDRESS: metricsAddress }),
    ...(callbacks && {
      FILECONV_CALLBACKS_PUBLIC_BASE_URL: callbacks.publicBaseUrl,
      FILECONV_CALLBACKS_KEY_ENV: 'TEST_CALLBACK_KEY',
      TEST_CALLBACK_KEY: callbacks.key,
    }),
    ...(hold && {
      HOLDING_WORKER: JSON.stringify({ taskQueue, apps, appId: stubAppId, token: token ?? stubToken, callbacks, hold }),
    }),
  };
}
