import { setTimeout as sleep } from 'node:timers/promises';
import { searchAttributeTypes } from 'temporal-file-conversion/internal/shared/search-attributes';
import type { CommandContext } from '../command-context';
import { temporalTarget } from '../config/temporal-connection';
import {
  adoptTemporalServer,
  defaultCacheDir,
  obtainTemporalCli,
  portNear,
  readServerRecord,
  startTemporalServer,
  TemporalServerError,
} from '../dev-server';
import type { RunningTemporalServer, StartOptions } from '../dev-server';
import { aborted } from './parent-process';

/** The Temporal of a stack: somebody's, or a dev server of our own. */
export interface TemporalPart {
  readonly address: string;
  readonly namespace: string;
  readonly uiUrl?: string | undefined;
  stop(): Promise<void>;
}

interface SuperviseTemporalOptions {
  dbFilename: string;
  logFile: string;
  /** Of a server that has to be started; one that is left over has its own. */
  port: number;
  uiPort: number;
  /** Of the UI; a server that is left over keeps what it was started with. */
  uiCodecEndpoint?: string | undefined;
  /** Ends the start; not what has started. */
  signal?: AbortSignal | undefined;
}

interface Ports {
  port: number;
  uiPort: number | false;
}

const firstRestartDelayMs = 250;
const maxRestartDelayMs = 10_000;
const startAttempts = 5;

/**
 * Temporal for a stack. A server of our own is started again, at the same address, whenever it ends unasked: its database has all it knew.
 * @throws TemporalServerError when it can't be obtained or started.
 */
export async function superviseTemporal(
  context: CommandContext,
  options: SuperviseTemporalOptions,
): Promise<TemporalPart> {
  const { env, config } = context;
  const { connection, namespace, isNamed } = temporalTarget(config.values.temporal, env);
  if (isNamed) {
    return { address: connection.address ?? '', namespace, stop: () => Promise.resolve() };
  }
  const part = new OwnTemporal(context, namespace, options);
  await part.start();
  return part;
}

class OwnTemporal implements TemporalPart {
  private server: RunningTemporalServer | undefined;
  private readonly stopping = new AbortController();
  private restarts: Promise<void> = Promise.resolve();

  constructor(
    private readonly context: CommandContext,
    readonly namespace: string,
    private readonly options: SuperviseTemporalOptions,
  ) {}

  get address(): string {
    return this.server?.address ?? '';
  }

  get uiUrl(): string | undefined {
    return this.server?.uiUrl;
  }

  async start(): Promise<void> {
    this.server = (await this.adoptLeftOver()) ?? (await this.startPersistently());
    this.restarts = this.keepRunning(this.server);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.restarts;
    await this.server?.stop();
  }

  /** The server of a stack whose own process was killed: it may still be running on our database. */
  private async adoptLeftOver(): Promise<RunningTemporalServer | undefined> {
    const { dbFilename } = this.options;
    const record = readServerRecord(dbFilename);
    return record && adoptTemporalServer({ ...record, dbFilename, namespace: this.namespace });
  }

  /** Whoever kills it may hit it while it starts. */
  private async startPersistently(): Promise<RunningTemporalServer> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.startFirst();
      } catch (error) {
        const wasKilled = error instanceof TemporalServerError && error.code === 'START_KILLED';
        if (!wasKilled || attempt === startAttempts) throw error;
        this.context.output.warn(`Temporal ended unasked; it is started again (log: ${this.options.logFile}).`);
        await sleep(firstRestartDelayMs * 2 ** (attempt - 1), undefined, { signal: this.options.signal });
      }
    }
  }

  private async startFirst(): Promise<RunningTemporalServer> {
    const { port, uiPort, signal } = this.options;
    const startOptions = { ...(await this.startOptions()), ...(signal && { signal }) };
    try {
      return await startTemporalServer({ ...startOptions, port, uiPort });
    } catch (error) {
      // Another program may take a port before the server does; any two free ones will do then.
      const [portNow, uiPortNow] = [await portNear(port), await portNear(uiPort)];
      if (!(error instanceof TemporalServerError) || (portNow === port && uiPortNow === uiPort)) throw error;
      return startTemporalServer(startOptions);
    }
  }

  private async keepRunning(first: RunningTemporalServer): Promise<void> {
    const { output } = this.context;
    const { signal } = this.stopping;
    const ports: Ports = {
      port: portOf(`http://${first.address}`),
      uiPort: first.uiUrl === undefined ? false : portOf(first.uiUrl),
    };
    let current: RunningTemporalServer | undefined = first;
    let delayMs = firstRestartDelayMs;
    for (;;) {
      await Promise.race([current?.exited, aborted(signal)]);
      if (isAborted(signal)) return;
      if (current) output.warn(`Temporal ended unasked; it is started again (log: ${this.options.logFile}).`);
      await sleep(delayMs, undefined, { signal }).catch(() => undefined);
      if (isAborted(signal)) return;
      current = await this.startAgain(ports);
      delayMs = current ? firstRestartDelayMs : Math.min(delayMs * 2, maxRestartDelayMs);
    }
  }

  private async startAgain(ports: {
    port: number;
    uiPort: number | false;
  }): Promise<RunningTemporalServer | undefined> {
    const { signal } = this.stopping;
    try {
      const server = await startTemporalServer({ ...(await this.startOptions()), ...ports, signal });
      if (isAborted(signal)) await server.stop();
      this.server = server;
      return server;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (!isAborted(signal)) this.context.output.warn(`Temporal could not be started again: ${reason}`);
      return undefined;
    }
  }

  private async startOptions(): Promise<StartOptions> {
    const { env, homeDir, output } = this.context;
    const { dbFilename, logFile, uiCodecEndpoint, signal } = this.options;
    const cli = await obtainTemporalCli({
      env,
      cacheDir: defaultCacheDir(env, homeDir),
      onProgress: (message) => output.say(message),
      ...(signal && { signal }),
    });
    return {
      cliPath: cli.path,
      env,
      dbFilename,
      namespace: this.namespace,
      searchAttributes: searchAttributeTypes,
      logFile,
      uiCodecEndpoint,
      ownProcessGroup: true,
    };
  }
}

/** A call, since control flow analysis takes a signal that was not aborted for one that never will be. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}
