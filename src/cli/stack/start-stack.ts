import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { temporalTarget } from '../../config/temporal-connection';
import { ensureEmbeddedApp } from '../../service/embedded-app';
import type { ProcessLock, RunningTemporalServer } from '../../temporal-server';
import {
  acquireProcessLock,
  adoptTemporalServer,
  chooseTemporal,
  defaultCacheDir,
  obtainTemporalCli,
  portNear,
  readServerRecord,
  startTemporalServer,
} from '../../temporal-server';
import type { CommandContext } from '../command-context';
import type { StackRecord } from './stack-record';
import { removeStackRecord, writeStackRecord } from './stack-record';
import type { SupervisedProcess } from './supervised-process';
import { superviseProcess } from './supervised-process';

/** Temporal, the conversion service and a worker, running for as long as this process does. */
export interface Stack {
  readonly record: StackRecord;
  /** Stops the parts in the order in which they need each other. A second call changes nothing. */
  stop(): Promise<void>;
}

export interface StartStackOptions {
  startedBy: StackRecord['startedBy'];
  /** `false`: throw when another process runs the stack. Default: wait until it has ended. */
  wait?: boolean;
  /** Called once nobody else holds the stack, before anything is started. */
  onStart?: () => void;
  signal?: AbortSignal;
}

const mainFile = path.resolve(__dirname, '../../../dist/cli/main.js');
const defaultTemporalPort = 7233;
const defaultUiPort = 8233;

/**
 * Starts what a conversion needs on this machine. All state is in `<state>/`: what was running when everything was killed goes on.
 * @throws TemporalServerError `LOCK_HELD` with `wait: false`, or whatever keeps a part from starting.
 */
export async function startStack(context: CommandContext, options: StartStackOptions): Promise<Stack> {
  const { values } = context.config;
  const stateDir = values.state.dir;
  const logs = path.join(stateDir, 'logs');
  await mkdir(logs, { recursive: true });
  const started: (() => Promise<void>)[] = [];
  const stopAll = async () => {
    for (let stop = started.pop(); stop; stop = started.pop()) await stop();
  };
  try {
    const lock: ProcessLock = await acquireProcessLock(path.join(stateDir, 'stack.lock'), options);
    started.push(() => {
      lock.release();
      return Promise.resolve();
    });
    options.onStart?.();
    const temporal = await startTemporal(context, path.join(stateDir, 'temporal.db'), logs, options.signal);
    started.push(temporal.stop);
    const service = await startService(context, logs);
    started.push(() => service.process.stop());
    const worker = await startWorker(context, { temporal, serviceUrl: service.url, logs });
    started.push(() => worker.stop());
    const record: StackRecord = {
      pid: process.pid,
      startedBy: options.startedBy,
      temporal: {
        address: temporal.address,
        namespace: temporal.namespace,
        ...(temporal.uiUrl !== undefined && { uiUrl: temporal.uiUrl }),
      },
      service: { url: service.url },
      taskQueue: values.worker.taskQueue,
    };
    await writeStackRecord(stateDir, record);
    started.push(() => removeStackRecord(stateDir));
    return { record, stop: stopAll };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

interface TemporalPart {
  address: string;
  namespace: string;
  uiUrl?: string | undefined;
  stop: () => Promise<void>;
}

async function startTemporal(
  context: CommandContext,
  dbFilename: string,
  logs: string,
  signal: AbortSignal | undefined,
): Promise<TemporalPart> {
  const { env, homeDir, output, config } = context;
  const target = temporalTarget(config.values.temporal, env);
  if (chooseTemporal(env, config.values.temporal).kind === 'external') {
    const address = target.connection.address ?? '';
    return { address, namespace: target.namespace, stop: () => Promise.resolve() };
  }
  const left = await adoptLeftOver(dbFilename);
  const server = left ?? (await startOwn());
  const namespace = target.namespace;
  return { address: server.address, namespace, uiUrl: server.uiUrl, stop: () => server.stop() };

  async function startOwn(): Promise<RunningTemporalServer> {
    const cli = await obtainTemporalCli({
      env,
      cacheDir: defaultCacheDir(env, homeDir),
      onProgress: (message) => output.say(message),
      ...(signal && { signal }),
    });
    return startTemporalServer({
      cliPath: cli.path,
      env,
      dbFilename,
      port: await portNear(defaultTemporalPort),
      uiPort: await portNear(defaultUiPort),
      namespace: target.namespace,
      logFile: path.join(logs, 'temporal.log'),
      ownProcessGroup: true,
      ...(signal && { signal }),
    });
  }
}

/** The server of a stack whose own process was killed: it may still be running on our database. */
async function adoptLeftOver(dbFilename: string): Promise<RunningTemporalServer | undefined> {
  const record = readServerRecord(dbFilename);
  if (!record) return undefined;
  return adoptTemporalServer({ ...record, dbFilename });
}

async function startService(context: CommandContext, logs: string) {
  const { config, env, output } = context;
  const configured = config.values.service.port;
  const chosen = config.origins['service.port']?.source !== 'default';
  const port = chosen && configured !== 0 ? configured : await portNear(configured);
  const process = await superviseProcess({
    name: 'conversion service',
    args: [mainFile, 'service', ...configArgs(context)],
    env: { ...env, FILECONV_SERVICE_PORT: String(port) },
    logFile: path.join(logs, 'service.log'),
    onRestart: (message) => output.warn(message),
  });
  return { process, url: `http://127.0.0.1:${port}` };
}

async function startWorker(
  context: CommandContext,
  parts: { temporal: TemporalPart; serviceUrl: string; logs: string },
): Promise<SupervisedProcess> {
  const { config, env, output } = context;
  const embedded = await ensureEmbeddedApp(config.values.service.dataDir);
  return superviseProcess({
    name: 'worker',
    args: [mainFile, 'worker', ...configArgs(context)],
    env: {
      ...env,
      TEMPORAL_ADDRESS: parts.temporal.address,
      TEMPORAL_NAMESPACE: parts.temporal.namespace,
      // An embedded profile that the configuration spells out wins.
      ...(config.values.apps['embedded'] === undefined && {
        FILECONV_APPS_EMBEDDED_BASE_URL: parts.serviceUrl,
        FILECONV_APPS_EMBEDDED_APP_ID: embedded.appId,
        FILECONV_APPS_EMBEDDED_TOKEN_FILE: embedded.tokenFile,
      }),
    },
    logFile: path.join(parts.logs, 'worker.log'),
    onRestart: (message) => output.warn(message),
  });
}

function configArgs({ config }: CommandContext): string[] {
  return config.file === undefined ? [] : ['--config', config.file];
}
