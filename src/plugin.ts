import { createHash, type KeyObject } from 'node:crypto';
import path from 'node:path';
import { log } from '@temporalio/activity';
import { SimplePlugin } from '@temporalio/plugin';
import type { ClientOptions } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type * as WorkerPackage from '@temporalio/worker';
import type { BundleOptions, ReplayWorkerOptions, Worker, WorkerOptions } from '@temporalio/worker';
import { createActivities } from './activities';
import { AppNotices } from './activities/app-notices';
import { AppSlots, logAttributes, WaitSlots, waitSlotsOf } from './activities/app-slots';
import { UnknownAppError } from './activities/failure';
import { ResultChecks } from './checks/result-checks';
import { ConversionTimes } from './activities/pauses';
import { RefusalWatch } from './activities/refusal-watch';
import { WorkerMetrics } from './activities/worker-metrics';
import { parseCallbackKeys, createCallbackUrl } from './callbacks/callback-url';
import { openConversionApi } from './http/client';
import type { ConversionApi, RateMemory } from './http/conversion-api';
import { createRateMemory } from './http/rate-limit/rate-memory';
import { fixedToken, readTokenFile, RereadToken, type TokenSource } from './http/token-source';
import type * as NexusHandlers from './nexus/handlers';
import type { CallbackSubmission } from './job/types';
import { activityNames } from './job/names';
import { createHttpsFiles } from './storage/https/index';
import { createLocalFiles } from './storage/local-files';
import { checkPluginOptions, type AppProfile, type FileConversionPluginOptions } from './plugin-options';
import { Stores } from './storage/stores';
import { bundleOfHost, problemOfBundle, readingBundle, workflowCode } from './workflow-code';

/**
 * Adds file conversion to a worker.
 *
 * A worker without workflows and activities runs conversions with it. A plugin can't add workflows to a worker that has its own: add
 * `export * from 'temporal-file-conversion/workflows'` to your workflows file. May be passed to worker, client and connection alike,
 * and applied twice. Otherwise it only changes a worker's activities and activity interceptors; see `conversionWorkerOptions` for
 * options that suit conversions. Closes its connections to the services when the last worker that uses it ends, or by `await using`.
 */
export class FileConversionPlugin extends SimplePlugin {
  /** Workers whose workflows were already checked. */
  private readonly seen = new WeakSet<Worker>();
  private readonly readers = new WeakSet<object>();
  private readonly clients = new Map<string, ConversionApi>();
  private readonly conversionActivities: ReturnType<typeof createActivities>;
  private readonly checks: ResultChecks;
  private readonly metrics: WorkerMetrics;
  private readonly slots: AppSlots;
  /** Smallest number of slots among its workers; initially Temporal's default. */
  private minSlots = 100;
  private running = 0;
  private readonly settings: FileConversionPluginOptions;
  private readonly tokens: ReadonlyMap<string, TokenSource>;
  private readonly callbackKey: KeyObject | undefined;
  private readonly nexusApps: readonly string[];
  private nexusService: NexusService | undefined;

  constructor(options: FileConversionPluginOptions) {
    super({ name: 'temporal-file-conversion.FileConversionPlugin' });
    checkPluginOptions(options);
    this.settings = options;
    this.tokens = new Map(Object.entries(options.apps).map(([app, profile]) => [app, tokenOf(app, profile)]));
    const { key, receiver } = options.callbacks ?? {};
    this.callbackKey = typeof key === 'string' ? parseCallbackKeys(key).current : key;
    this.nexusApps = options.nexus?.apps ?? [];
    this.checks = new ResultChecks(options.checkCommand);
    this.metrics = new WorkerMetrics(Object.keys(options.apps));
    this.slots = new AppSlots(Object.keys(options.apps).length);
    this.conversionActivities = createActivities({
      checks: this.checks,
      metrics: this.metrics,
      slots: this.slots,
      api: (app) => this.api(app),
      files: new Stores({
        file: createLocalFiles({ isShared: options.sharedFiles ?? false }),
        https: createHttpsFiles(),
        ...options.stores,
      }),
      refusals: new RefusalWatch(),
      times: new ConversionTimes(),
      waits: new WaitSlots(() => waitSlotsOf(this.minSlots)),
      callbackUrl: (app, submission) => this.callbackUrl(app, submission),
      callbackComes: receiver && ((submission, ms, signal) => receiver.comes(submission, ms, signal)),
      notify: options.notify,
      appNotices: new AppNotices(options.notify),
    });
  }

  override configureWorker(options: WorkerOptions): WorkerOptions {
    const { interceptors, activities } = options;
    refuseOther(activities, this.conversionActivities);
    this.minSlots = Math.min(this.minSlots, options.maxConcurrentActivityTaskExecutions ?? this.minSlots);
    return {
      ...this.withWorkflows(options, this.settings.workflows ?? activities === undefined),
      activities: { ...activities, ...this.conversionActivities },
      interceptors: {
        ...interceptors,
        activity: withOnce(withOnce(interceptors?.activity, logAttributes), this.slots.interceptor),
      },
      ...(this.nexusApps.length > 0 && { nexusServices: withOnce(options.nexusServices, this.serveNexus()) }),
    };
  }

  override configureReplayWorker(options: ReplayWorkerOptions): ReplayWorkerOptions {
    return this.withWorkflows(options, true);
  }

  override configureBundler(options: BundleOptions): BundleOptions {
    if (options.webpackConfigHook && this.readers.has(options.webpackConfigHook)) return options;
    // A bundle contains its converters, so those of the worker would come too late.
    const reading = readingBundle({ ...this.settings.dataConverter, ...options }, (code) => {
      const problem = problemOfBundle(code);
      if (problem !== undefined) options.logger?.warn(runsNone(problem));
    });
    if (reading.webpackConfigHook) this.readers.add(reading.webpackConfigHook);
    return reading;
  }

  override configureClient(options: ClientOptions): ClientOptions {
    return this.withDataConverter(options);
  }

  private withWorkflows<Options extends ReplayWorkerOptions>(options: Options, isAllowed: boolean): Options {
    const converting = this.withDataConverter(options);
    const { workflowsPath, workflowBundle } = options;
    if (workflowsPath !== undefined || workflowBundle !== undefined || !isAllowed) return converting;
    return { ...converting, ...workflowCode(converting) };
  }

  private withDataConverter<Options extends { dataConverter?: DataConverter }>(options: Options): Options {
    const { dataConverter } = this.settings;
    return options.dataConverter || !dataConverter ? options : { ...options, dataConverter };
  }

  private serveNexus(): NexusService {
    // Loaded here, because programs that do not serve Nexus may lack its packages.
    const handlers = require('./nexus/handlers') as typeof NexusHandlers;
    return (this.nexusService ??= handlers.createConversionServiceHandler(this.nexusApps));
  }

  override async runWorker(worker: Worker, next: (worker: Worker) => Promise<void>): Promise<void> {
    this.slots.use(worker.options.taskQueue, activitySlots(worker.options.tuner.activityTaskSlotSupplier));
    this.running += 1;
    try {
      this.introduce(worker);
      await next(worker);
    } catch (error) {
      // A worker that failed or was forced to end does not wait for requests in flight; its own error is thrown.
      this.leave().catch(() => undefined);
      throw error;
    }
    await this.leave();
  }

  private async leave(): Promise<void> {
    this.running -= 1;
    if (this.running === 0) await this.close();
  }

  /** Records metrics through the Temporal runtime, which exports them only if configured to. */
  private introduce(worker: Worker): void {
    const { namespace, taskQueue, workflowBundle, workflowsPath } = worker.options;
    // Loaded here, because clients also use the plugin and may lack the worker package.
    const { Runtime } = require('@temporalio/worker') as typeof WorkerPackage;
    const { metricMeter, logger } = Runtime.instance();
    this.metrics.use(metricMeter, { namespace, taskQueue });
    if (this.seen.has(worker)) return;
    this.seen.add(worker);
    const hasNone =
      workflowBundle === undefined && workflowsPath === undefined && this.settings.workflows === undefined;
    const code = hasNone ? '' : bundleOfHost(workflowBundle);
    const problem = code === undefined ? undefined : problemOfBundle(code, worker.options.dataConverter);
    if (problem !== undefined) logger.warn(runsNone(problem), { taskQueue });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Closes the connections to the services. A later job reopens them. */
  async close(): Promise<void> {
    this.checks.close();
    const clients = [...this.clients.values()];
    this.clients.clear();
    for (const client of clients) await client.close();
  }

  private api(app: string): ConversionApi {
    const client = this.clients.get(app) ?? this.connect(app);
    this.clients.set(app, client);
    return client;
  }

  private connect(app: string): ConversionApi {
    const { apps, timeouts = {} } = this.settings;
    const profile = Object.hasOwn(apps, app) ? apps[app] : undefined;
    const token = this.tokens.get(app);
    if (!profile || !token) {
      const known = Object.keys(apps).join(', ') || 'none';
      throw new UnknownAppError(
        `This worker has no app profile called ${JSON.stringify(app)}; it has: ${known}. Add the profile to its configuration and start it again (fileconv up, or fileconv worker): the job then continues by itself.`,
      );
    }
    const { baseUrl, appId } = profile;
    return openConversionApi({
      baseUrl,
      appId,
      token,
      timeouts,
      rateMemory: this.rateMemory(profile),
      observer: this.metrics.observer(app),
    });
  }

  private callbackUrl(app: string, submission: CallbackSubmission): string | undefined {
    const { apps, callbacks } = this.settings;
    const baseUrl = apps[app]?.callbackBaseUrl ?? callbacks?.publicBaseUrl;
    if (baseUrl === undefined || this.callbackKey === undefined) return undefined;
    return createCallbackUrl(baseUrl, submission, this.callbackKey);
  }

  /** The file name is derived from service and app, to which the rate limit applies, and not from the profile. */
  private rateMemory({ baseUrl, appId }: AppProfile): RateMemory | undefined {
    const { stateDir } = this.settings;
    if (stateDir === undefined) return undefined;
    const name = createHash('sha256').update(`${baseUrl} ${appId}`).digest('hex').slice(0, 16);
    return createRateMemory(path.join(stateDir, 'rate-limits', `${name}.json`));
  }
}

function runsNone(problem: string): string {
  return `This worker does not run conversions as it should: ${problem}`;
}

/** The activities of one plugin would replace those of the other, and its apps would be unknown. @throws TypeError */
function refuseOther(there: object | undefined, own: object): void {
  const of = (activities: object | undefined) =>
    (activities as Record<string, unknown> | undefined)?.[activityNames.uploadFile];
  if (of(there) === undefined || of(there) === of(own)) return;
  throw new TypeError('This worker has another FileConversionPlugin already. Give one of them the apps of both.');
}

function tokenOf(app: string, { token, tokenFile: file }: AppProfile): TokenSource {
  if (typeof token === 'string') return fixedToken(token);
  return new RereadToken({
    read: token ?? (() => readTokenFile(file ?? '')),
    file,
    onChange: () => void log.info('Another token is used from now on', { app }),
    onUnreadable: (reason) =>
      void log.warn('The token could not be read again: the old one stays in use', { app, reason }),
  });
}

type NexusService = NonNullable<WorkerOptions['nexusServices']>[number];

/** Undefined if the supplier has no fixed maximum. */
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

function withOnce<T>(list: readonly T[] | undefined, item: T): T[] {
  return [...(list ?? []).filter((each) => each !== item), item];
}
