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
import type { CheckCommand } from './checks/check-command';
import { ResultChecks } from './checks/result-checks';
import { ConversionTimes } from './activities/pauses';
import { RefusalWatch } from './activities/refusal-watch';
import { WorkerMetrics } from './activities/worker-metrics';
import { parseCallbackKeys, checkBaseUrl, createCallbackUrl } from './callbacks/callback-url';
import type { CallbackReceiver } from './callbacks/receiver';
import { openConversionApi } from './http/client';
import type { ApiTimeouts, ConversionApi, RateMemory } from './http/conversion-api';
import { createRateMemory } from './http/rate-limit/rate-memory';
import { fixedToken, readTokenFile, RereadToken, type TokenSource } from './http/token-source';
import type * as NexusHandlers from './nexus/handlers';
import type { NotifySettings } from './notices/send-notice';
import type { CallbackSubmission } from './job/types';
import { activityNames } from './job/names';
import { createHttpsFiles } from './storage/https/index';
import { createLocalFiles } from './storage/local-files';
import { Stores, type StoresByScheme } from './storage/stores';
import { bundleOfHost, problemOfBundle, readingBundle, workflowCode } from './workflow-code';

/** Address and credentials of an app profile's service. Jobs only name a profile, so none of this enters a workflow. */
export interface AppProfile {
  /** For example `https://api.vertopal.com`, without `/v1`. */
  baseUrl: string;
  appId: string;
  /**
   * The app token, or a function that provides it: called for the app's first job, and again after INVALID_CREDENTIAL. Default: the
   * content of `tokenFile`.
   */
  token?: string | (() => string | Promise<string>);
  /** File with the app token, reread when it changes. With a `token` function, a change calls the function again. */
  tokenFile?: string;
  /** Base URL of the receiver for this app's service, at a domain verified for the app. Default: `callbacks.publicBaseUrl`. */
  callbackBaseUrl?: string;
}

/** Callbacks from services to the receiver `fileconv callbacks`. */
export interface CallbackSettings {
  /** Signs the URLs; the receiver needs the same key: at least 32 characters. If the text has several keys, the first signs. */
  key: string | KeyObject;
  /**
   * Public URL of the receiver with any path prefix, such as `https://hooks.example.com/conversion`. Default: only apps
   * with a `callbackBaseUrl` request callbacks.
   */
  publicBaseUrl?: string;
  /** The receiver, if it runs in this process and no other receives the callbacks of its jobs: a quick conversion then needs no signal. */
  receiver?: Pick<CallbackReceiver, 'comes'>;
}

export interface FileConversionPluginOptions {
  apps: Readonly<Record<string, AppProfile>>;
  timeouts?: Partial<ApiTimeouts>;
  /** Default: no callbacks, jobs poll. */
  callbacks?: CallbackSettings;
  /** Stores of sources and results by URI scheme, in addition to `file:` and `https:`, or in their place. */
  stores?: StoresByScheme;
  /**
   * Workers on all hosts see the same files under the same paths. Default: false; the steps of a job that writes to a `file:` URI stay
   * on the host that uploaded. A custom store declares this by `isPerHost`.
   */
  sharedFiles?: boolean;
  /** Program that checks the results of jobs with policy `check: 'command'`. Default: such jobs fail before they upload. */
  checkCommand?: CheckCommand;
  /** Folder that preserves RETRY-AFTER times across restarts. Default: none; they are lost on restart. */
  stateDir?: string;
  /** For workers, clients and replays without a converter, for example `createEncryptedDataConverter(keys)`. Default: Temporal's. */
  dataConverter?: DataConverter;
  /**
   * Whether a worker without workflows runs the conversion workflows; `false` if other workers of its task queue do. Default: true for
   * a worker without activities.
   */
  workflows?: boolean;
  /**
   * Serves the Nexus service `conversion` to callers from other namespaces and in other languages, who may use these app profiles.
   * Needs the packages `@temporalio/nexus` and `nexus-rpc`. Default: not served.
   */
  nexus?: { apps: readonly string[] };
  /** Listener for notices, for example when a batch ends or needs a person. The secret never enters a workflow. Default: no notices. */
  notify?: NotifySettings;
}

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
  private readonly callbackBaseUrls: ReadonlyMap<string, string>;
  private readonly nexusApps: readonly string[];
  private nexusService: NexusService | undefined;

  constructor(options: FileConversionPluginOptions) {
    super({ name: 'temporal-file-conversion.FileConversionPlugin' });
    this.settings = options;
    checkNames(options);
    for (const [app, profile] of Object.entries(options.apps)) checkProfile(app, profile);
    this.tokens = new Map(Object.entries(options.apps).map(([app, profile]) => [app, tokenOf(app, profile)]));
    const { callbacks } = options;
    const receiver = callbacks?.receiver;
    // An unset environment variable is reported at once too: otherwise the jobs would silently poll.
    this.callbackKey = callbacks && keyOf(callbacks);
    this.callbackBaseUrls = callbackBaseUrls(options);
    this.nexusApps = nexusApps(options);
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
    const baseUrl = this.callbackBaseUrls.get(app);
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

const optionNames: Readonly<Record<keyof FileConversionPluginOptions, true>> = {
  ...{ apps: true, timeouts: true, callbacks: true, stores: true, sharedFiles: true, checkCommand: true },
  ...{ stateDir: true, dataConverter: true, workflows: true, nexus: true, notify: true },
};

/** Without a compiler, a misspelled name would go unnoticed. @throws TypeError */
function checkNames(options: object): void {
  const unknown = Object.keys(options).find((name) => !(name in optionNames));
  if (unknown !== undefined) {
    const known = Object.keys(optionNames).join(', ');
    throw new TypeError(`FileConversionPlugin has no option ${JSON.stringify(unknown)}; it has ${known}.`);
  }
  if (!('apps' in options) || Object(options.apps) !== options.apps)
    throw new TypeError('FileConversionPlugin needs apps: { NAME: { baseUrl, appId, token } }.');
}

function checkProfile(app: string, { baseUrl, appId, token }: AppProfile): void {
  checkBaseUrl(baseUrl, `apps.${app}.baseUrl`);
  for (const [name, value] of Object.entries({ appId, token })) {
    if (typeof value === 'function' || (value === undefined && name === 'token')) continue;
    if (typeof value === 'string' && /^[\x21-\x7e]+$/.test(value.trim())) continue;
    throw new TypeError(`apps.${app}.${name} must be one word of ASCII; it is ${value ? 'something else' : 'empty'}.`);
  }
}

/** The activities of one plugin would replace those of the other, and its apps would be unknown. @throws TypeError */
function refuseOther(there: object | undefined, own: object): void {
  const of = (activities: object | undefined) =>
    (activities as Record<string, unknown> | undefined)?.[activityNames.uploadFile];
  if (of(there) === undefined || of(there) === of(own)) return;
  throw new TypeError('This worker has another FileConversionPlugin already. Give one of them the apps of both.');
}

/** @throws TypeError */
function tokenOf(app: string, { token, tokenFile: file }: AppProfile): TokenSource {
  if (typeof token === 'string') {
    if (file !== undefined) throw new TypeError(`apps.${app} has both token and tokenFile; keep one.`);
    return fixedToken(token);
  }
  const read = token ?? (file === undefined ? undefined : () => readTokenFile(file));
  if (!read) throw new TypeError(`apps.${app} needs token or tokenFile.`);
  return new RereadToken({
    read,
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

/** @throws CallbackKeyError */
function keyOf({ key }: CallbackSettings): KeyObject {
  return typeof key === 'object' ? key : parseCallbackKeys(key).current;
}

/** Checked at startup, so that a mistake fails the worker and not each of its jobs. */
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

/** Checked at startup too. */
function nexusApps({ apps, nexus }: FileConversionPluginOptions): readonly string[] {
  const unknown = nexus?.apps.filter((app) => !Object.hasOwn(apps, app)) ?? [];
  if (unknown.length === 0) return nexus?.apps ?? [];
  throw new TypeError(`nexus.apps names ${unknown.join(', ')}, but apps has only: ${Object.keys(apps).join(', ')}.`);
}
