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
import { keepRunning, restartNews, startPersistently } from './restarting';

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
  /** For a server that is started; a left-over one keeps its own. */
  port: number;
  uiPort: number;
  /** For the UI; a left-over server keeps what it was started with. */
  uiCodecEndpoint?: string | undefined;
  /** Ends the start; not what has started. */
  signal?: AbortSignal | undefined;
}

type Ports = Pick<StartOptions, 'port' | 'uiPort'>;

/**
 * Temporal for a stack. A server of our own is started again at the same address, with its database, whenever it ends unasked.
 * @throws TemporalServerError when it can't be obtained or started.
 */
export async function superviseTemporal(
  context: CommandContext,
  options: SuperviseTemporalOptions,
): Promise<TemporalPart> {
  const { connection, namespace, isNamed } = temporalTarget(context);
  if (isNamed) {
    return { address: connection.address, namespace, stop: () => Promise.resolve() };
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
    const { output } = this.context;
    const onRestart = () => output.warn(restartNews('Temporal', this.options.logFile));
    const server =
      (await this.adoptLeftOver()) ??
      (await startPersistently(() => this.startFirst(), {
        // It may be killed while it starts, too.
        isWorthAnother: (error) => error instanceof TemporalServerError && error.code === 'START_KILLED',
        onRestart,
        signal: this.options.signal,
      }));
    this.server = server;
    const ports: Ports = {
      port: portOf(`http://${server.address}`),
      uiPort: server.uiUrl === undefined ? false : portOf(server.uiUrl),
    };
    this.restarts = keepRunning(server, {
      exited: ({ exited }) => exited,
      startAgain: () => this.startAgain(ports),
      onRestart,
      // A server that could be started has all that it needs.
      provenAfterMs: 0,
      signal: this.stopping.signal,
    });
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

  private async startFirst(): Promise<RunningTemporalServer> {
    const { port, uiPort, signal } = this.options;
    const startOptions = { ...(await this.startOptions()), signal };
    try {
      return await startTemporalServer({ ...startOptions, port, uiPort });
    } catch (error) {
      // Another program may take a port before the server does; then any two free ports will do.
      const [portNow, uiPortNow] = [await portNear(port), await portNear(uiPort)];
      if (!(error instanceof TemporalServerError) || (portNow === port && uiPortNow === uiPort)) throw error;
      return startTemporalServer(startOptions);
    }
  }

  private async startAgain(ports: Ports): Promise<RunningTemporalServer | undefined> {
    const { signal } = this.stopping;
    try {
      const server = await startTemporalServer({ ...(await this.startOptions()), ...ports, signal });
      if (signal.aborted) await server.stop();
      this.server = server;
      return server;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (!signal.aborted) this.context.output.warn(`Temporal could not be started again: ${reason}`);
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
      signal,
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

function portOf(url: string): number {
  return Number(new URL(url).port);
}
