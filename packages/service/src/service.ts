import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { isLoopback } from 'temporal-file-conversion/network';
import type { Log } from 'temporal-file-conversion/messages';
import { makeFolder } from 'temporal-file-conversion/storage';
import type { ServiceApp } from './accounts/account';
import { Accounts } from './accounts/accounts';
import { type CallbackOptions, checkCallbackOptions } from './callbacks/options';
import { ConversionPool } from './engines/process/conversion-pool';
import { FormatCatalog, wordFor } from './engines/formats';
import { Faults, type FaultsOptions } from './faults/faults';
import { ServiceFiles, refuseForeignFolder } from './files/file-store';
import { documentVersion } from './shared/api-version';
import { lockDataDir, openDatabase } from './shared/database';
import { checkLimits, serviceLimits, type ServiceLimits } from './shared/limits';
import type { ServiceMetrics } from './shared/service-metrics';
import { startCleanup } from './tasks/cleanup';
import { ConversionQueue } from './tasks/conversion-queue';
import { TaskStore } from './tasks/task-store';

/** Where the service runs, for which apps, and with which limits. */
export interface ConversionServiceOptions extends Partial<ServiceLimits> {
  /** Folder of the database and the files; created if missing. Only one service may use it at a time. */
  dataDir: string;
  /** Default 127.0.0.1. An address that other machines can reach needs `allowRemote` as well. */
  host?: string;
  /** Default 0: a free port. */
  port?: number;
  allowRemote?: boolean;
  /** Apps that may use the service, besides those of the accounts file. */
  apps: readonly ServiceApp[];
  /** Names of the engines to use, in order of preference for a pair of formats. Default: all. See `docs/service/engines.md`. */
  engines?: readonly string[] | undefined;
  /** Must exist when it is named. Default: `accounts.toml` in `dataDir`, if there is one. See `docs/service/accounts.md`. */
  accountsFile?: string | undefined;
  /** Must exist when it is named. Default: `faults.toml` in `dataDir`, if there is one. See `docs/service/faults.md`. */
  faultsFile?: string | undefined;
  /** Faults to inject, instead of those of a file. */
  faults?: FaultsOptions | undefined;
  /** Formats of a conversion that is expected soon; its engine is loaded while the service starts. Default: none. */
  expects?: { input: string; output: string } | undefined;
  /** How responses are delivered to the URLs of the data key `callback`. */
  callbacks?: CallbackOptions;
  /** Default: none. */
  metrics?: ServiceMetrics | undefined;
  log?: Log;
}

export interface ConversionService {
  /** Base URL, without a trailing slash. */
  url: string;
  port: number;
  /** Reads the accounts file now; changes are noticed within a second anyway. False: the file is invalid, and nothing changed. */
  reloadAccounts(): Promise<boolean>;
  /** The same for the faults file. */
  reloadFaults(): Promise<boolean>;
  /** Whether the database answers. */
  isUsable(): boolean;
  /** Lets requests in progress finish. Conversions in progress run again at the next start. */
  close(): Promise<void>;
}

interface Opened {
  store: TaskStore;
  files: ServiceFiles;
  pool: ConversionPool;
  stopCleanup: () => Promise<void>;
}

/** How long close() waits for requests in progress before it closes their connections. */
const closeGraceMs = 10_000;
const closeSweepMs = 20;
const watchIntervalMs = 500;

/**
 * Starts a conversion service: the server side of the document, on this machine. State is in `dataDir`; accepted tasks survive `kill -9`
 * and continue at the next start. Rejects if the address, the folder or an option cannot be used.
 */
export async function startConversionService(options: ConversionServiceOptions): Promise<ConversionService> {
  const { host = '127.0.0.1', port = 0, metrics, log = () => undefined } = options;
  const allowRemote = options.allowRemote === true;
  if (!isLoopback(host) && !allowRemote) {
    throw new Error(
      `Other machines can reach ${host}. Leave host out to listen on 127.0.0.1, or allow it: allow_remote = "on" in [service], allowRemote in a program.`,
    );
  }
  const dataDir = path.resolve(options.dataDir);
  const catalog = new FormatCatalog({ engines: options.engines });
  const limits = checkLimits(serviceLimits, options);
  const callbackSettings = checkCallbackOptions(options.callbacks);
  const accounts = await Accounts.open({
    apps: options.apps,
    file: options.accountsFile ?? path.join(dataDir, 'accounts.toml'),
    required: options.accountsFile !== undefined,
    log,
  });
  if (accounts.all.length === 0) throw new Error('The conversion service needs at least one app.');
  const faults = await Faults.open({
    options: options.faults,
    file: options.faultsFile ?? path.join(dataDir, 'faults.toml'),
    required: options.faultsFile !== undefined,
    apps: () => accounts.all,
    log,
  });
  await makeFolder(dataDir, 0o700);
  await refuseForeignFolder(dataDir);
  const unlock = lockDataDir(path.join(dataDir, 'service.lock'), dataDir);
  let store: TaskStore | undefined;
  try {
    store = new TaskStore(openDatabase(path.join(dataDir, 'service.db')));
    return await startWithStore(store);
  } catch (error) {
    store?.close();
    unlock();
    throw error;
  }

  async function startWithStore(store: TaskStore): Promise<ConversionService> {
    const files = new ServiceFiles(dataDir, limits);
    await files.prepare();
    const stopCleanup = await startCleanup({ files, store, limits, log });
    const folder = path.join(dataDir, 'conversions');
    const pool = new ConversionPool({
      maxMemoryBytes: limits.maxConversionMemoryBytes,
      maxWrittenBytes: Math.min(limits.maxWrittenBytes, limits.maxStoredBytes),
      folder,
    });
    const word = options.expects && wordFor(catalog, options.expects);
    if (word) pool.warm(word);
    try {
      return await serve({ store, files, pool, stopCleanup });
    } catch (error) {
      await Promise.all([stopCleanup(), pool.close()]);
      throw error;
    }
  }

  async function serve({ store, files, pool, stopCleanup }: Opened): Promise<ConversionService> {
    // Late: both take longer to load than the rest of the service, and meanwhile the engine loads.
    const { createServer } = await import('./http/server.js');
    const { CallbackQueue } = await import('./callbacks/callback-queue.js');
    const queue = new ConversionQueue({ store, files, pool, catalog, accounts, limits, metrics, log });
    const callbacks = new CallbackQueue({ store, settings: callbackSettings, accounts, faults, metrics, log });
    accounts.use((all) => store.ledger.seed(all));
    const context = { store, files, queue, catalog, limits };
    const versions = [documentVersion, ...accounts.extraApiVersions];
    const server = await createServer({ context, accounts, versions, allowRemote, faults, metrics, log });
    metrics?.watch({
      waiting: () => queue.counts.waiting,
      converting: () => queue.counts.converting,
      storedBytes: () => files.totalBytes,
    });
    await server.listen({ host, port });
    faults.announce();
    const recovered = queue.recover();
    if (recovered > 0) log(`${recovered} conversion(s) that were not completed run again`);
    callbacks.start();
    const watch = setInterval(() => {
      // In this order, because a fault may name an app that was just added to the accounts file.
      void accounts.file.look().then(() => faults.file.look());
    }, watchIntervalMs).unref();
    const { port: boundPort } = server.server.address() as AddressInfo;
    let closing: Promise<void> | undefined;
    return {
      url: `http://${host.includes(':') ? `[${host}]` : host}:${boundPort}`,
      port: boundPort,
      reloadAccounts: () => accounts.file.reload(),
      reloadFaults: () => faults.file.reload(),
      isUsable: () => store.answers(),
      close: () => (closing ??= closeAll()),
    };

    async function closeAll(): Promise<void> {
      clearInterval(watch);
      await stopCleanup();
      const closed = server.close();
      // Requests in mode sync wait for conversions; this answers them that the service shuts down.
      await Promise.all([queue.stop(), callbacks.stop()]);
      // Idle keep-alive connections would keep the server open.
      const sweep = setInterval(() => server.server.closeIdleConnections(), closeSweepMs);
      const cut = setTimeout(() => server.server.closeAllConnections(), closeGraceMs);
      await closed;
      clearInterval(sweep);
      clearTimeout(cut);
      store.close();
      unlock();
    }
  }
}
