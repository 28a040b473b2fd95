import { setTimeout as sleep } from 'node:timers/promises';
import type { CommandContext } from '../command-context';
import { temporalTarget } from '../config/temporal-connection';
import { defaultCacheDir, obtainTemporalCli, startTemporalServer, TemporalServerError } from '../dev-server';
import type { StartOptions } from '../dev-server';
import { aborted } from '../process/asked-to-end';

const firstDelayMs = 250;
const maxDelayMs = 10_000;

/** The Temporal of a stack: one that the user named, or a dev server of our own. */
export interface TemporalPart {
  readonly address: string;
  readonly namespace: string;
  readonly uiUrl?: string | undefined;
  /** Rejects if it can't be restarted; resolves only after `stop()`. */
  readonly kept: Promise<void>;
  stop(): Promise<void>;
}

export interface TemporalPartOptions extends Pick<StartOptions, OfServer> {
  logFile: string;
}
type OfServer = 'dbFilename' | 'port' | 'uiPort' | 'uiCodecEndpoint' | 'signal' | 'onSpawn';

/**
 * Temporal for a stack. Our own server is restarted with its address and database whenever it ends unasked.
 * @throws TemporalServerError if it can't be obtained or started.
 */
export async function startTemporal(context: CommandContext, options: TemporalPartOptions): Promise<TemporalPart> {
  const { connection, namespace, isNamed } = temporalTarget(context);
  if (isNamed) {
    const kept = new Promise<void>(() => undefined);
    return { address: connection.address, namespace, kept, stop: () => Promise.resolve() };
  }
  const { env, homeDir, output } = context;
  const { logFile } = options;
  const start = async (ending: AbortSignal | undefined) => {
    const onProgress = (message: string) => output.say(message);
    const cliPath = await obtainTemporalCli({
      env,
      cacheDir: defaultCacheDir(env, homeDir),
      onProgress,
      signal: ending,
    });
    return startTemporalServer({ ...options, cliPath, env, namespace, ownProcessGroup: true, signal: ending });
  };
  let server = await start(options.signal);
  const { address, uiUrl } = server;
  const stopping = new AbortController();
  // A function, since TypeScript would otherwise narrow `aborted` to false for good.
  const isStopping = () => stopping.signal.aborted;
  const stopped = aborted(stopping.signal);

  async function keepRunning(): Promise<void> {
    let delayMs = firstDelayMs;
    for (;;) {
      await Promise.race([server.exited, stopped]);
      if (isStopping()) return;
      if (delayMs === firstDelayMs) output.warn(`Temporal stopped by itself; it is being restarted (log: ${logFile}).`);
      await sleep(delayMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (isStopping()) return;
      try {
        server = await start(stopping.signal);
        delayMs = firstDelayMs;
      } catch (error) {
        if (error instanceof TemporalServerError && error.code === 'DATABASE_DAMAGED') throw error;
        const reason = error instanceof Error ? error.message : String(error);
        if (!isStopping()) output.warn(`Temporal could not be started again: ${reason}`);
        delayMs = Math.min(delayMs * 2, maxDelayMs);
      }
    }
  }

  const kept = keepRunning();
  // Callers see a rejection when they await it; until then it must not count as unhandled.
  kept.catch(() => undefined);
  return {
    address,
    namespace,
    uiUrl,
    kept,
    async stop() {
      stopping.abort();
      await kept.catch(() => undefined);
      await server.stop();
    },
  };
}
