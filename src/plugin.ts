import { createHash, type KeyObject } from 'node:crypto';
import path from 'node:path';
import { SimplePlugin } from '@temporalio/plugin';
import type { Worker, WorkerOptions } from '@temporalio/worker';
import { createActivities } from './activities';
import { AppSlots, WaitSlots, waitSlotsOf } from './activities/app-slots';
import { ConversionTimes } from './activities/conversion-times';
import { CreditsWatch } from './activities/credits-watch';
import type { ActivityDependencies } from './activities/dependencies';
import { UnknownAppError } from './activities/failure';
import { logAttributes } from './activities/log-attributes';
import { WorkerMetrics } from './activities/worker-metrics';
import { createConversionApi } from './api/client';
import type { ApiTimeouts, ConversionApi, RateMemory } from './api/conversion-api';
import { createRateMemory } from './api/rate-limit/rate-memory';
import type { RequestTracer } from './api/request-spans';
import { parseCallbackKeys } from './callbacks/callback-key';
import { checkBaseUrl, createCallbackUrl } from './callbacks/callback-url';
import type { CallbackSubmission } from './shared/callback';
import type { FileStore } from './storage/file-store';
import { createLocalFiles } from './storage/local-files';

/** Where an app profile's service is, and how to prove who asks. Jobs name a profile; nothing of this enters a workflow. */
export interface AppProfile {
  /** For example `https://api.vertopal.com`, without `/v1`. */
  baseUrl: string;
  appId: string;
  /** The app token, or where to get it from; called for the app's first job. */
  token: string | (() => string | Promise<string>);
  /** Where this app's service reaches the callback receiver. Default: `callbacks.publicBaseUrl`. Its domain must be verified for the app. */
  callbackBaseUrl?: string;
}

/** How services are asked to call back; the receiver is `fileconv callbacks`. */
export interface CallbackSettings {
  /** Signs the URLs: at least 32 characters, the same that the receiver has. Of a key file the text as it is: the first of two keys signs. */
  key: string | KeyObject;
  /** Where services reach the receiver, a path prefix included, for example `https://hooks.example.com/conversion`. Default: only apps with a `callbackBaseUrl` ask. */
  publicBaseUrl?: string;
}

export interface FileConversionPluginOptions {
  apps: Readonly<Record<string, AppProfile>>;
  timeouts?: Partial<ApiTimeouts>;
  /** Default: nobody calls back, and jobs poll. */
  callbacks?: CallbackSettings;
  /** Where files come from and go to. Default: `file:` URIs. */
  files?: FileStore;
  /** Folder in which the end of a RETRY-AFTER outlives the process. Default: none, and a worker that starts again has to be told anew. */
  stateDir?: string;
  /** An OpenTelemetry `Tracer`: each request to a service becomes a span under the activity's. Default: no spans. */
  tracer?: RequestTracer;
}

/**
 * Adds the activities of file conversion to a worker.
 *
 * A plugin cannot register workflows in TypeScript: add `export * from 'temporal-file-conversion/workflows'` to the workflows file of
 * your own worker. May be passed to worker, client and connection alike, and applied twice. Of a worker it changes activities
 * and activity interceptors alone: `conversionWorkerOptions` has what a worker may set for the sake of conversions. With the last worker
 * that runs with it, its connections to the conversion services are closed.
 */
export class FileConversionPlugin extends SimplePlugin {
  private readonly clients = new Map<string, Promise<ConversionApi>>();
  private readonly conversionActivities: ReturnType<typeof createActivities>;
  private readonly metrics: WorkerMetrics;
  private readonly slots: AppSlots;
  /** Of the worker with the fewest: Temporal's default where nobody says. */
  private fewestSlots = 100;
  /** Workers that run with it. */
  private running = 0;
  private readonly apps: Readonly<Record<string, AppProfile>>;
  private readonly timeouts: Partial<ApiTimeouts>;
  private readonly stateDir: string | undefined;
  private readonly tracer: RequestTracer | undefined;
  private readonly callbackKey: KeyObject | undefined;
  private readonly callbackBaseUrls: ReadonlyMap<string, string>;

  constructor(options: FileConversionPluginOptions) {
    super({ name: 'temporal-file-conversion.FileConversionPlugin' });
    this.apps = options.apps;
    this.timeouts = options.timeouts ?? {};
    this.stateDir = options.stateDir;
    this.tracer = options.tracer;
    const { key } = options.callbacks ?? {};
    this.callbackKey = typeof key === 'string' ? parseCallbackKeys(key).current : key;
    this.callbackBaseUrls = callbackBaseUrls(options);
    this.metrics = new WorkerMetrics(Object.keys(options.apps));
    this.slots = new AppSlots(Object.keys(options.apps).length);
    const dependencies: ActivityDependencies = {
      metrics: this.metrics,
      slots: this.slots,
      api: (app) => this.api(app),
      files: options.files ?? createLocalFiles(),
      credits: new CreditsWatch(),
      times: new ConversionTimes(),
      waits: new WaitSlots(() => waitSlotsOf(this.fewestSlots)),
      callbackUrl: (app, submission) => this.callbackUrl(app, submission),
    };
    this.conversionActivities = createActivities(dependencies);
  }

  override configureWorker(options: WorkerOptions): WorkerOptions {
    const { interceptors } = options;
    this.fewestSlots = Math.min(this.fewestSlots, options.maxConcurrentActivityTaskExecutions ?? this.fewestSlots);
    return {
      ...options,
      activities: { ...options.activities, ...this.conversionActivities },
      interceptors: {
        ...interceptors,
        activity: withOnce(withOnce(interceptors?.activity, logAttributes), this.slots.interceptor),
      },
    };
  }

  override async runWorker(worker: Worker, next: (worker: Worker) => Promise<void>): Promise<void> {
    this.slots.use(worker.options.taskQueue, activitySlots(worker.options.tuner.activityTaskSlotSupplier));
    this.running += 1;
    try {
      // At once: a worker takes no notice of a `shutdown` that comes before it runs.
      await Promise.all([next(worker), this.useMeter(worker)]);
    } catch (error) {
      // A worker that was forced to end, or can't go on, does not wait for requests that are under way; its own error is the one to tell.
      this.leave().catch(() => undefined);
      throw error;
    }
    await this.leave();
  }

  private async leave(): Promise<void> {
    this.running -= 1;
    if (this.running === 0) await this.close();
  }

  /** Values go to the metrics of the Temporal runtime, wherever those are told; by default nowhere. */
  private async useMeter({ options: { namespace, taskQueue } }: Worker): Promise<void> {
    // Here, not above: clients use the plugin too, and have no worker.
    const { Runtime } = await import('@temporalio/worker');
    this.metrics.use(Runtime.instance().metricMeter, { namespace, taskQueue });
  }

  private async close(): Promise<void> {
    const clients = [...this.clients.values()];
    this.clients.clear();
    // One that could not be made has nothing to close.
    for (const client of await Promise.allSettled(clients)) {
      if (client.status === 'fulfilled') await client.value.close();
    }
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
      observer: this.metrics.observer(app),
      tracer: this.tracer,
    });
  }

  private callbackUrl(app: string, submission: CallbackSubmission): string | undefined {
    const baseUrl = this.callbackBaseUrls.get(app);
    if (baseUrl === undefined || this.callbackKey === undefined) return undefined;
    return createCallbackUrl(baseUrl, submission, this.callbackKey);
  }

  /** The limit is the service's for the app, whatever the profile is called here. */
  private rateMemory({ baseUrl, appId }: AppProfile): RateMemory | undefined {
    if (this.stateDir === undefined) return undefined;
    const name = createHash('sha256').update(`${baseUrl} ${appId}`).digest('hex').slice(0, 16);
    return createRateMemory(path.join(this.stateDir, 'rate-limits', `${name}.json`));
  }
}

/** How many there are, of a supplier that tells. */
function activitySlots(supplier: Worker['options']['tuner']['activityTaskSlotSupplier']): number | undefined {
  switch (supplier.type) {
    case 'fixed-size':
      return supplier.numSlots;
    case 'resource-based':
      return supplier.maximumSlots;
    case 'custom':
      return undefined;
  }
}

/** A plugin may be applied to a worker twice. */
function withOnce<T>(list: readonly T[] | undefined, item: T): T[] {
  return [...(list ?? []).filter((each) => each !== item), item];
}

/** Checked here, so that a mistake ends the worker's start and not each of its jobs. */
function callbackBaseUrls({ apps, callbacks }: FileConversionPluginOptions): Map<string, string> {
  const baseUrls = new Map<string, string>();
  for (const [app, { callbackBaseUrl }] of Object.entries(apps)) {
    if (callbackBaseUrl !== undefined && !callbacks) {
      throw new TypeError(`apps.${app}.callbackBaseUrl needs callbacks.key, which signs the callback URLs.`);
    }
    const baseUrl = callbackBaseUrl ?? callbacks?.publicBaseUrl;
    if (baseUrl === undefined) continue;
    const isOwn = callbackBaseUrl !== undefined;
    baseUrls.set(app, checkBaseUrl(baseUrl, isOwn ? `apps.${app}.callbackBaseUrl` : 'callbacks.publicBaseUrl'));
  }
  return baseUrls;
}
