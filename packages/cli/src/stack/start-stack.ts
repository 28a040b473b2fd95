import { EventEmitter } from 'node:events';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileSize } from 'temporal-file-conversion/messages';
import { freeBytesOf, makeFolder } from 'temporal-file-conversion/storage';
import { makeStateFolders, rememberStack } from '../allowed';
import type { CommandContext } from '../command-context';
import { CommandError, explainStateFolder } from '../command-error';
import type { Config } from '../config/load-config';
import { temporalTarget } from '../config/temporal-connection';
import { embeddedApp } from '../config/schema';
import { endLeftOverServer, TemporalServerError, tryProcessLock } from '../dev-server';
import type { openCodecServer } from '../keys/encryption';
import { isEncrypting } from '../keys/secrets';
import { openLog } from '../observability/log';
import { boundLogs, openLogFile } from '../observability/log-file';
import { Closing } from '../process/closing';
import { claimPorts } from './ports';
import type { ServicePart, ServicePartOptions } from './service-part';
import { removeStackRecord, writeStackHolder, writeStackRecord } from './stack-record';
import type { StackHolder, StackRecord } from './stack-record';
import { startTemporal, type TemporalPart, type TemporalPartOptions } from './temporal-part';
import type { WorkerPart, WorkerPartOptions } from './worker-part';

/** Conversion service, callback receiver and worker in this process, with Temporal beside it. */
export interface Stack {
  readonly record: StackRecord;
  /** Rejects with the reason when a part can't go on. It never resolves. */
  readonly failed: Promise<never>;
  /** Stops the parts in the order of their dependencies. Safe to repeat. */
  stop(): Promise<void>;
}

interface StartStackOptions extends Pick<ServicePartOptions, 'expects'> {
  startedBy: StackRecord['startedBy'];
  /** `false`: without the Temporal UI. */
  ui?: boolean | undefined;
  /** Called once this process holds the stack's lock, before any part is started. */
  onStart?: () => void;
  signal?: AbortSignal;
}

const stopMarginMs = 10_000;
const workerAttempts = 5;
const workerRetryMs = 1_000;
/** With less, not even a database can be opened. */
const fullBytes = 1_000_000;

/**
 * Starts everything that conversions need on this machine. All state is in `<state>/`, so that jobs continue even after a kill.
 * @returns undefined while another process runs the stack.
 * @throws whatever keeps a part from starting.
 */
export async function startStack(context: CommandContext, options: StartStackOptions): Promise<Stack | undefined> {
  const { values } = context.config;
  const stateDir = values.state.dir;
  const hasReceiver = values.callbacks.embedded === 'on';
  const hasCodec = isEncrypting(context);
  const opened = new Closing();
  try {
    const holder = await holdState(context, options, opened);
    if (!holder) return undefined;
    const logs = logsOf(stateDir);
    const ports = await claimPorts(context, options.startedBy);
    opened.add(() => ports.release());
    let uiUrl: string | undefined = undefined;
    // Before Temporal, whose UI needs the codec server's address.
    const codec = hasCodec ? await openCodec(context, { port: ports.codec, ownUiUrl: () => uiUrl }) : undefined;
    opened.add(() => codec?.close());
    const openPartLog = (process: 'service' | 'callbacks' | 'worker') => {
      const stream = openLogFile(path.join(logs, `${process}.log`));
      opened.add(() => stream.close());
      return openLog(context, { process, stream });
    };
    const ofTemporal = {
      dbFilename: databaseOf(stateDir),
      logFile: path.join(logs, 'temporal.log'),
      port: ports.temporal,
      uiPort: options.ui === false ? (false as const) : ports.temporalUi,
      uiCodecEndpoint: codec?.url,
      signal: options.signal,
    };
    const ofService = async () => ({
      port: ports.service,
      log: await openPartLog('service'),
      expects: options.expects,
    });
    const [temporal, service] = await startTogether(context, opened, { ofTemporal, ofService });
    uiUrl = temporal.uiUrl;
    const { address, namespace } = temporal;
    const { isNamed, connection } = temporalTarget(context);
    const target = { connection: { ...(isNamed && connection), address }, namespace, isNamed };
    options.signal?.throwIfAborted();
    const { openReceiver } = await import('./receiver-part.js');
    const callbacks = hasReceiver
      ? await openReceiver(context, { target, port: ports.callbacks, log: await openPartLog('callbacks') })
      : undefined;
    opened.add(() => callbacks?.close());
    const worker = await startWorkerOf(withParts(context, callbacks?.url), {
      target,
      log: await openPartLog('worker'),
      receiver: callbacks,
      signal: options.signal,
    });
    opened.add(() => closeInTime(worker, values));
    const failed = failureOf(context, { worker, temporal, logs });
    opened.add(() => failed.forget());
    const record: StackRecord = {
      ...holder,
      temporal: { address, namespace, uiUrl },
      service: { url: service.url },
      callbacks: callbacks && { url: callbacks.url },
      codec: codec && { url: codec.url },
      taskQueue: values.worker.taskQueue,
      apps: [...new Set([embeddedApp, ...Object.keys(values.apps)])],
    };
    options.signal?.throwIfAborted();
    await writeStackRecord(stateDir, record);
    opened.add(() => removeStackRecord(stateDir));
    if (options.startedBy === 'up') await rememberStack(context);
    return { record, failed: failed.failure, stop: () => opened.close() };
  } catch (error) {
    await opened.close();
    throw await explainFullDisk(context, error);
  }
}

export function databaseOf(stateDir: string): string {
  return path.join(stateDir, 'temporal.db');
}

/** The lock decides who runs the stack: the process id of a killed stack may be reused. */
export function lockOf(stateDir: string): string {
  return path.join(stateDir, 'stack.lock');
}

export function logsOf(stateDir: string): string {
  return path.join(stateDir, 'logs');
}

export async function makeLogFolder(context: CommandContext): Promise<void> {
  await makeStateFolders(context);
  const stateDir = context.config.values.state.dir;
  await makeFolder(logsOf(stateDir)).catch((error: unknown) => {
    throw explainStateFolder(stateDir, error);
  });
}

/** Creates the state folder and locks it until `opened` is closed; bounds its logs meanwhile. Undefined: another process holds it. */
async function holdState(
  context: CommandContext,
  { startedBy, onStart }: StartStackOptions,
  opened: Closing,
): Promise<StackHolder | undefined> {
  const stateDir = context.config.values.state.dir;
  await makeLogFolder(context);
  const lock = await tryProcessLock(lockOf(stateDir));
  if (!lock) return undefined;
  opened.add(() => lock.release());
  const holder = { pid: process.pid, startedBy, since: new Date().toISOString() };
  await writeStackHolder(stateDir, holder).catch((error: unknown) => {
    throw explainStateFolder(stateDir, error);
  });
  opened.add(() => removeStackRecord(stateDir));
  onStart?.();
  opened.add(boundLogs(logsOf(stateDir)));
  // The server of a killed stack may still hold the port that this stack needs.
  await endLeftOverServer(databaseOf(stateDir));
  return holder;
}

async function openCodec(context: CommandContext, options: Parameters<typeof openCodecServer>[1]) {
  // Late: it loads Temporal's client, and most stacks encrypt nothing.
  const { openCodecServer } = await import('../keys/encryption.js');
  return openCodecServer(context, options);
}

/** Loads the other parts, which blocks this thread, only once Temporal's process runs. A command that finds a stack needs none. */
async function startTogether(
  context: CommandContext,
  opened: Closing,
  { ofTemporal, ofService }: { ofTemporal: TemporalPartOptions; ofService: () => Promise<ServicePartOptions> },
): Promise<[TemporalPart, ServicePart]> {
  let onSpawn = (): void => undefined;
  const spawned = new Promise<void>((resolve) => (onSpawn = resolve));
  // A failed start is reported by the awaits below.
  const isAbsent = () => undefined;
  const temporal = startTemporal(context, { ...ofTemporal, onSpawn: () => onSpawn() });
  opened.add(() => temporal.then((part) => part.stop(), isAbsent));
  await Promise.race([spawned, temporal]);
  const { startService } = await import('./service-part.js');
  const service = await startService(context, await ofService());
  opened.add(() => service.close());
  const [temporalPart] = await Promise.all([temporal, import('./worker-part.js')]);
  return [temporalPart, service];
}

/** A full disk has many symptoms in SQLite, which is behind the lock and Temporal's database. */
async function explainFullDisk(context: CommandContext, error: unknown): Promise<unknown> {
  // The service reports problems with its database in its own words.
  if (error instanceof CommandError && error.code !== 'SERVICE_UNUSABLE') return error;
  return ifDiskIsFull(context, error);
}

/** The error to throw if the disk is full; if not, the given one. */
export async function ifDiskIsFull({ config }: Pick<CommandContext, 'config'>, error: unknown): Promise<unknown> {
  const { state, service } = config.values;
  const free = await freeBytesOf(state.dir);
  if (free === undefined || free > fullBytes) return error;
  const needed = fileSize(service.minFreeBytes + fullBytes);
  const problem = `The disk of ${state.dir} is full (${fileSize(free)} free). Make room: a stack needs ${needed} (service.min_free_bytes), and what the files take.`;
  return new CommandError('STATE_UNUSABLE', [problem], { cause: error });
}

/** Adds to the configuration what only the stack's own worker knows. */
function withParts(context: CommandContext, callbackUrl: string | undefined): CommandContext {
  const { values } = context.config;
  const { worker, callbacks } = values;
  const embeddedBaseUrl = callbacks.embeddedBaseUrl ?? callbackUrl;
  return {
    ...context,
    config: {
      ...context.config,
      values: {
        ...values,
        // All workers of this Temporal run on this machine, even if its host name changes.
        worker: { ...worker, sharedFiles: 'on' },
        callbacks: { ...callbacks, ...(embeddedBaseUrl !== undefined && { embeddedBaseUrl }) },
      },
    },
  };
}

/** Retries, because Temporal may be killed while the worker starts and needs a moment to come back. */
async function startWorkerOf(
  context: CommandContext,
  { signal, ...options }: Pick<WorkerPartOptions, 'target' | 'log' | 'receiver'> & { signal: AbortSignal | undefined },
): Promise<WorkerPart> {
  const { startWorker } = await import('./worker-part.js');
  const onWarning = (message: string) => options.log(message, { level: 'warn' });
  for (let attempt = 1; ; attempt += 1) {
    try {
      // Unversioned, because nobody would make a version the current one.
      return await startWorker(context, { ...options, onWarning, isUnversioned: true });
    } catch (error) {
      const isAway = error instanceof CommandError && error.code === 'TEMPORAL_UNREACHABLE';
      if (!isAway || attempt === workerAttempts) throw error;
      await sleep(workerRetryMs, undefined, { signal });
    }
  }
}

async function closeInTime(part: WorkerPart, config: Config): Promise<void> {
  await Promise.race([part.close(), sleep(closeLimitMs(config), undefined, { ref: false })]).catch(() => undefined);
}

/** Grace time, plus the time of a submit in flight, plus a margin: a worker ended earlier could leave an unknown outcome. */
function closeLimitMs({ worker, timeouts, policies }: Config): number {
  const submitMs = Math.max(timeouts.headersSeconds * 1_000, policies.submitTimeout);
  return worker.shutdownGraceSeconds * 1_000 + submitMs + stopMarginMs;
}

/** A stack that takes longer to stop hangs: its other parts get the margin once more. */
export function stopLimitMs(config: Config): number {
  return closeLimitMs(config) + stopMarginMs;
}

/** Uncaught errors of a part, a worker that ends unasked, and a Temporal that can't be restarted. */
function failureOf(
  { process }: CommandContext,
  { worker, temporal, logs }: { worker: WorkerPart; temporal: TemporalPart; logs: string },
) {
  const failing = new EventEmitter<{ failed: [error: unknown] }>();
  const failure = new Promise<never>((_resolve, reject) => {
    failing.once('failed', (error) => {
      if (error instanceof TemporalServerError) {
        reject(error);
        return;
      }
      const reason = error instanceof Error ? `: ${error.message}` : '';
      const problem = `The stack stopped by itself${reason} (logs: ${logs}). Unfinished jobs continue with the next stack: fileconv up`;
      reject(new CommandError('STACK_FAILED', [problem], { cause: error }));
    });
  });
  failure.catch(() => undefined);
  const fail = (error: unknown) => failing.emit('failed', error);
  worker.ended.then(() => fail(undefined), fail);
  temporal.kept.catch(fail);
  process.on('uncaughtException', fail);
  return {
    failure,
    forget() {
      failing.removeAllListeners();
      process.off('uncaughtException', fail);
    },
  };
}
