import { createHash } from 'node:crypto';
import path from 'node:path';
import { SimplePlugin } from '@temporalio/plugin';
import type { WorkerOptions } from '@temporalio/worker';
import { createActivities } from './activities';
import { CreditsWatch } from './activities/credits-watch';
import type { ActivityDependencies } from './activities/dependencies';
import { UnknownAppError } from './activities/dependencies';
import { createConversionApi } from './api/client';
import { createRateMemory } from './api/rate-limit/rate-memory';
import type { ApiTimeouts, ConversionApi, RateMemory } from './api/conversion-api';
import type { FileStore } from './storage/file-store';
import { createLocalFiles } from './storage/local-files';

/** Where an app profile's service is, and how to prove who asks. Jobs name a profile; nothing of this enters a workflow. */
export interface AppProfile {
  /** For example `https://api.vertopal.com`, without `/v1`. */
  baseUrl: string;
  appId: string;
  /** The app token, or where to get it from; called for the app's first job. */
  token: string | (() => string | Promise<string>);
}

export interface FileConversionPluginOptions {
  apps: Readonly<Record<string, AppProfile>>;
  timeouts?: Partial<ApiTimeouts>;
  /** Where files come from and go to. Default: `file:` URIs. */
  files?: FileStore;
  /** Folder in which the end of a RETRY-AFTER outlives the process. Default: none, and a worker that starts again has to be told anew. */
  stateDir?: string;
}

/**
 * Adds the activities of file conversion to a worker.
 *
 * A plugin cannot register workflows in TypeScript: add `export * from 'temporal-file-conversion/workflows'` to the workflows file of
 * your own worker. May be passed to a worker, a client and a connection alike; only the worker is changed, and applying it twice is harmless.
 */
export class FileConversionPlugin extends SimplePlugin {
  private readonly clients = new Map<string, Promise<ConversionApi>>();
  private readonly conversionActivities: ReturnType<typeof createActivities>;
  private readonly apps: Readonly<Record<string, AppProfile>>;
  private readonly timeouts: Partial<ApiTimeouts>;
  private readonly stateDir: string | undefined;

  constructor(options: FileConversionPluginOptions) {
    super({ name: 'temporal-file-conversion.FileConversionPlugin' });
    this.apps = options.apps;
    this.timeouts = options.timeouts ?? {};
    this.stateDir = options.stateDir;
    const dependencies: ActivityDependencies = {
      api: (app) => this.api(app),
      files: options.files ?? createLocalFiles(),
      credits: new CreditsWatch(),
    };
    this.conversionActivities = createActivities(dependencies);
  }

  override configureWorker(options: WorkerOptions): WorkerOptions {
    return {
      // Temporal's default of 0 would cut every transfer at once; a deployment's own value wins.
      shutdownGraceTime: '30 seconds',
      // Cancellation reaches a transfer with the answer to a heartbeat, so a held-back heartbeat is a late cancellation.
      maxHeartbeatThrottleInterval: '2 seconds',
      ...super.configureWorker(options),
      activities: { ...options.activities, ...this.conversionActivities },
    };
  }

  /** Closes the connections to the conversion services. Call it when no worker uses the plugin any more. */
  async close(): Promise<void> {
    const clients = [...this.clients.values()];
    this.clients.clear();
    for (const client of clients) await (await client).close();
  }

  private api(app: string): Promise<ConversionApi> {
    const existing = this.clients.get(app);
    if (existing) return existing;
    const client = this.connect(app);
    this.clients.set(app, client);
    // A token that can't be read now may be readable for the next attempt.
    client.catch(() => this.clients.delete(app));
    return client;
  }

  private async connect(app: string): Promise<ConversionApi> {
    const profile = Object.hasOwn(this.apps, app) ? this.apps[app] : undefined;
    if (!profile) {
      const known = Object.keys(this.apps).join(', ') || 'none';
      throw new UnknownAppError(`This worker has no app profile called ${JSON.stringify(app)}; it has: ${known}.`);
    }
    const token = typeof profile.token === 'function' ? await profile.token() : profile.token;
    const { baseUrl, appId } = profile;
    return createConversionApi({
      baseUrl,
      appId,
      token,
      timeouts: this.timeouts,
      rateMemory: this.rateMemory(profile),
    });
  }

  /** The limit is the service's for the app, whatever the profile is called here. */
  private rateMemory({ baseUrl, appId }: AppProfile): RateMemory | undefined {
    if (this.stateDir === undefined) return undefined;
    const name = createHash('sha256').update(`${baseUrl} ${appId}`).digest('hex').slice(0, 16);
    return createRateMemory(path.join(this.stateDir, 'rate-limits', `${name}.json`));
  }
}
