import { createWriteStream, existsSync } from 'node:fs';
import path from 'node:path';
import { ensureEmbeddedApp } from 'temporal-file-conversion-service/internal/accounts/embedded-app';
import type { CallbackReceiver } from 'temporal-file-conversion/internal/callbacks/receiver';
import type { Log } from 'temporal-file-conversion/internal/shared/log';
import { fileSize } from 'temporal-file-conversion/internal/shared/wording';
import { freeBytesOf, makeFolder } from 'temporal-file-conversion/internal/storage/folders';
import { z } from 'zod';
import { makeStateFolders, rememberStack } from '../allowed';
import type { CommandContext } from '../command-context';
import { CommandError, explainStateFolder, isPortTaken } from '../command-error';
import type { Config } from '../config/load-config';
import { temporalTarget } from '../config/temporal-connection';
import { embeddedApp } from '../config/schema';
import {
  acquireProcessLock,
  defaultCacheDir,
  endLeftOverServer,
  freePort,
  portNear,
  TemporalServerError,
} from '../dev-server';
import { openReceiver } from '../keys/callback-settings';
import { isEncrypting, openCodecServer } from '../keys/encryption-settings';
import { openLog } from '../observability/log';
import { boundLogs, openLogFile } from '../observability/log-file';
import { recordFile, removeStackHolder, removeStackRecord, writeStackHolder, writeStackRecord } from './stack-record';
import type { StackRecord } from './stack-record';
import { portOf, superviseProcess, superviseTemporal, type SupervisedProcess, type TemporalPart } from './supervise';

/** Temporal, the conversion service and a worker, running for as long as this process does. */
export interface Stack {
  readonly record: StackRecord;
  /** Stops the parts in the order in which they need each other. A second call changes nothing. */
  stop(): Promise<void>;
}

interface StartStackOptions {
  startedBy: StackRecord['startedBy'];
  /** `false`: throw when another process runs the stack. Default: wait until it has ended. */
  wait?: boolean;
  /** `false`: without the Temporal UI. */
  ui?: boolean | undefined;
  /** Called once nobody else holds the stack, before anything is started. */
  onStart?: () => void;
  signal?: AbortSignal;
}

/** Program of each process of a stack: compiled code, also when a test runs the source. */
const mainFile = path.resolve(__dirname, '../../dist/main.js');

/** Longer than a service takes to end (10 s for the answers under way). */
const leftOverServiceTimeoutMs = 15_000;
const stopMarginMs = 10_000;
/** With less, not even a database can be opened. */
const fullBytes = 1_000_000;

/**
 * Starts what conversions need on this machine. All state is in `<state>/`, so that jobs continue after everything was killed.
 * @throws TemporalServerError `LOCK_HELD` with `wait: false`, or whatever keeps a part from starting.
 */
export async function startStack(context: CommandContext, options: StartStackOptions): Promise<Stack> {
  await makeStateFolders(context);
  const { values } = context.config;
  const stateDir = values.state.dir;
  const logs = path.join(stateDir, 'logs');
  await makeFolder(logs).catch((error: unknown) => {
    throw explainStateFolder(stateDir, error);
  });
  const started: (() => void | Promise<void>)[] = [];
  const stopAll = async () => {
    for (let stop = started.pop(); stop; stop = started.pop()) await stop();
  };
  try {
    const lock = await acquireProcessLock(path.join(stateDir, 'stack.lock'), options).catch(async (error: unknown) => {
      throw await explainFullDisk(context, error);
    });
    started.push(() => lock.release());
    // The record of a killed stack would mislead others until ours is written.
    await removeStackRecord(stateDir);
    await writeStackHolder(stateDir, options.startedBy);
    started.push(() => removeStackHolder(stateDir));
    options.onStart?.();
    started.push(boundLogs(logs));
    const dbFilename = path.join(stateDir, 'temporal.db');
    // Of a stack whose own process was killed; it has the port that this one is to have again.
    await endLeftOverServer(dbFilename);
    const ports = await claimPorts(context, options.startedBy);
    started.push(() => ports.release());
    let temporal: TemporalPart | undefined = undefined;
    // Before Temporal, whose UI needs its address.
    const openCodec = (port: number) => openCodecServer(context, { port, ownUiUrl: () => temporal?.uiUrl });
    const codec = isEncrypting(context)
      ? await openAt(context, { part: 'codec', port: ports.codec }, openCodec)
      : undefined;
    if (codec) started.push(() => codec.close());
    temporal = await superviseTemporal(context, {
      dbFilename,
      logFile: path.join(logs, 'temporal.log'),
      port: ports.temporal,
      uiPort: options.ui === false ? false : ports.temporalUi,
      uiCodecEndpoint: codec?.url,
      signal: options.signal,
    });
    started.push(() => temporal.stop());
    if (!temporalTarget(context).isNamed)
      await temporalPortBefore.write(stateDir, portOf(`http://${temporal.address}`));
    await awaitLeftOverService(context, options.signal);
    const service = await startService(context, ports.service, logs);
    started.push(() => service.process.stop());
    options.signal?.throwIfAborted();
    const callbacks =
      values.callbacks.embedded === 'on'
        ? await startReceiver(context, { temporal, port: ports.callbacks, logs })
        : undefined;
    if (callbacks) started.push(() => callbacks.close());
    const urls = { serviceUrl: service.url, callbackUrl: callbacks?.url };
    const worker = await startWorker(context, { temporal, ...urls, logs });
    started.push(() => worker.stop());
    const record: StackRecord = {
      pid: process.pid,
      startedBy: options.startedBy,
      temporal: { address: temporal.address, namespace: temporal.namespace, uiUrl: temporal.uiUrl },
      service: { url: service.url },
      callbacks: callbacks && { url: callbacks.url },
      codec: codec && { url: codec.url },
      taskQueue: values.worker.taskQueue,
      apps: [...new Set([embeddedApp, ...Object.keys(values.apps)])],
    };
    options.signal?.throwIfAborted();
    await writeStackRecord(stateDir, record);
    if (options.startedBy === 'up') await rememberStack(context);
    started.push(() => removeStackRecord(stateDir));
    return { record, stop: stopAll };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

/** SQLite, which makes the lock, tells of a full disk in many ways. */
async function explainFullDisk({ config }: Pick<CommandContext, 'config'>, error: unknown): Promise<unknown> {
  const { state, service } = config.values;
  if (!(error instanceof TemporalServerError && error.code === 'LOCK_UNUSABLE')) return error;
  const free = await freeBytesOf(state.dir);
  if (free === undefined || free > fullBytes) return error;
  const needed = fileSize(service.minFreeBytes + fullBytes);
  const problem = `The disk of ${state.dir} is full (${fileSize(free)} free). Make room: a stack needs ${needed} (service.min_free_bytes), and what the files take.`;
  return new CommandError('STATE_UNUSABLE', [problem], { cause: error });
}

/**
 * After the process of a stack was killed, its service ends by itself, but finishes open requests first. Until then it holds the
 * lock of its folder.
 */
async function awaitLeftOverService({ config, output }: CommandContext, signal?: AbortSignal): Promise<void> {
  const file = path.join(config.values.service.dataDir, 'service.lock');
  if (!existsSync(file)) return;
  const limit = AbortSignal.timeout(leftOverServiceTimeoutMs);
  try {
    const lock = await acquireProcessLock(file, {
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
      onWait: () => output.say('The conversion service of an earlier stack is still ending; waiting for it.'),
    });
    lock.release();
  } catch (error) {
    // Somebody runs it on purpose, then: the service that starts now reports that.
    if (!limit.aborted) throw error;
  }
}

async function startService(context: CommandContext, port: number, logs: string) {
  const { cwd, env, output } = context;
  return openAt(context, { part: 'service', port }, async (servicePort) => {
    const process = await superviseProcess({
      name: 'conversion service',
      args: [mainFile, 'service', ...configArgs(context)],
      cwd,
      env: { ...env, FILECONV_SERVICE_PORT: String(servicePort) },
      logFile: path.join(logs, 'service.log'),
      onRestart: (message) => output.warn(message),
    });
    return { process, url: `http://127.0.0.1:${servicePort}` };
  });
}

/** Runs in this process: a service repeats a callback that it could not deliver, so a restart at the same port loses none. */
async function startReceiver(
  context: CommandContext,
  { temporal, port, logs }: { temporal: TemporalPart; port: number; logs: string },
): Promise<CallbackReceiver> {
  const { connection, isNamed } = temporalTarget(context);
  const target = { connection: { ...connection, address: temporal.address }, namespace: temporal.namespace, isNamed };
  const file = createWriteStream('', { fd: openLogFile(path.join(logs, 'callbacks.log')) });
  const write = await openLog(context, { process: 'callbacks', stream: file });
  const log: Log = (message, details) => {
    write(message, details);
    if (details?.level === 'warn') context.output.warn(message);
  };
  const open = (receiverPort: number) => openReceiver(context, { target, port: receiverPort, log });
  const receiver = await openAt(context, { part: 'callbacks', port }, open).catch((error: unknown) => {
    file.end();
    throw error;
  });
  await receiverPort.write(context.config.values.state.dir, Number(new URL(receiver.url).port));
  return {
    url: receiver.url,
    async close() {
      await receiver.close();
      file.end();
    },
  };
}

async function startWorker(
  context: CommandContext,
  parts: { temporal: TemporalPart; serviceUrl: string; callbackUrl: string | undefined; logs: string },
): Promise<SupervisedProcess> {
  const { config, cwd, env, output } = context;
  const embedded = await ensureEmbeddedApp(config.values.service.dataDir);
  return superviseProcess({
    name: 'worker',
    // With a version nobody would make it the current one.
    args: [mainFile, 'worker', '--unversioned', ...configArgs(context)],
    cwd,
    env: {
      ...env,
      TEMPORAL_ADDRESS: parts.temporal.address,
      TEMPORAL_NAMESPACE: parts.temporal.namespace,
      ...(parts.callbackUrl !== undefined &&
        config.values.callbacks.embeddedBaseUrl === undefined && {
          FILECONV_CALLBACKS_EMBEDDED_BASE_URL: parts.callbackUrl,
        }),
      // All workers of this Temporal run here, under whatever name the host has tomorrow.
      FILECONV_WORKER_SHARED_FILES: 'on',
      // An embedded profile that the configuration spells out wins.
      ...(config.values.apps['embedded'] === undefined && {
        FILECONV_APPS_EMBEDDED_BASE_URL: parts.serviceUrl,
        FILECONV_APPS_EMBEDDED_APP_ID: embedded.appId,
        FILECONV_APPS_EMBEDDED_TOKEN_FILE: embedded.tokenFile,
      }),
    },
    logFile: path.join(parts.logs, 'worker.log'),
    // Temporal may be killed while this starts, and needs a moment to be there again.
    isPatient: true,
    onRestart: (message) => output.warn(message),
    stopTimeoutMs: workerStopTimeoutMs(config.values),
  });
}

/** Grace time, plus the time of a submit that has begun, plus a margin: killed earlier, the worker could leave an unknown outcome. */
function workerStopTimeoutMs({ worker, timeouts, policies }: Config): number {
  const submitMs = Math.max(timeouts.headersSeconds * 1_000, policies.submitTimeout);
  return worker.shutdownGraceSeconds * 1_000 + submitMs + stopMarginMs;
}

/** What makes a part read the configuration that we have read. */
export function configArgs({ config }: Pick<CommandContext, 'config'>): string[] {
  // A file that was found, not named, each part finds itself, and so trusts it no more than this process does.
  return config.file === undefined || config.isFound ? [] : ['--config', config.file];
}

export interface StackPorts {
  temporal: number;
  temporalUi: number;
  service: number;
  callbacks: number;
  codec: number;
  /** Lets another stack have the well-known ports. */
  release: () => void;
}

/** Parts that have a port of their own in the configuration. */
type Part = 'service' | 'callbacks' | 'codec';

const temporalPort = 7233;
const temporalUiPort = 8233;

const port = z.int().min(1).max(65_535);

/** Where the folder's Temporal was before: commands that wait for it go on there. */
const temporalPortBefore = recordFile('temporal-port.json', port);

/** The port of the folder's last receiver, at which its unfinished conversions call back. */
export const receiverPort = recordFile('receiver-port.json', port);

/**
 * The well-known ports, as far as they are free, or others when another stack of this user has them.
 *
 * They are held as long as the stack runs, also while a part is down: two stacks that share a port would hand each other's jobs to
 * their workers.
 */
export async function claimPorts(
  { config, env, homeDir }: Pick<CommandContext, 'config' | 'env' | 'homeDir'>,
  startedBy: StackRecord['startedBy'],
): Promise<StackPorts> {
  const file = path.join(defaultCacheDir(env, homeDir), 'well-known-ports.lock');
  // Held by another stack, or in a folder that can't be written: any other ports will do.
  const lock = await acquireProcessLock(file, { wait: false }).catch(() => undefined);
  const choose = (wellKnown: number) => (lock && wellKnown !== 0 ? portNear(wellKnown) : freePort());
  const choosePart = (part: Part) => {
    const configured = config.values[part].port;
    return isConfigured(config, part) ? configured : choose(configured);
  };
  const chooseReceiverPort = async () => {
    if (isConfigured(config, 'callbacks') || (lock && startedBy === 'up')) return choosePart('callbacks');
    // Not the well-known one, which the next stack of another folder would have.
    const before = await receiverPort.read(config.values.state.dir);
    return before === undefined ? freePort() : portNear(before);
  };
  const chooseTemporalPort = async () => {
    const before = await temporalPortBefore.read(config.values.state.dir);
    const isOurs = before !== undefined && (before !== temporalPort || lock !== undefined);
    return isOurs ? portNear(before) : choose(temporalPort);
  };
  try {
    return {
      temporal: await chooseTemporalPort(),
      temporalUi: await choose(temporalUiPort),
      service: await choosePart('service'),
      callbacks: await chooseReceiverPort(),
      codec: await choosePart('codec'),
      release: () => lock?.release(),
    };
  } catch (error) {
    lock?.release();
    throw error;
  }
}

function isConfigured({ values, origins }: CommandContext['config'], part: Part): boolean {
  return origins[`${part}.port`] !== undefined && values[part].port !== 0;
}

/** Opens a part at its port or, when another program has taken that meanwhile and the configuration does not insist on it, at a free one. */
export async function openAt<Opened>(
  { config }: Pick<CommandContext, 'config'>,
  { part, port }: { part: Part; port: number },
  open: (port: number) => Promise<Opened>,
): Promise<Opened> {
  try {
    return await open(port);
  } catch (error) {
    const mustBe = isConfigured(config, part) && config.values[part].port === port;
    const free = await portNear(port);
    // It may have been taken for a moment only, by a connection.
    if (mustBe || (free === port && !isPortTaken(error))) throw error;
    return open(free);
  }
}
