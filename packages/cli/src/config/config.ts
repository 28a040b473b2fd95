import path from 'node:path';
import type { OnExisting, OnUnknownOutcome } from 'temporal-file-conversion/internal/shared/choices';
import type { LogLevel } from 'temporal-file-conversion/internal/shared/log';
import type { FileValues } from './schema';

/** Where the token of an app comes from. The token itself is never part of the configuration. */
export type TokenSource = { from: 'environment'; variable: string } | { from: 'file'; file: string };

export interface AppProfile {
  name: string;
  /** Without a slash at its end. */
  baseUrl: string;
  appId: string;
  token: TokenSource;
}

/** The effective configuration. Paths are absolute; policies are milliseconds. */
export interface Config {
  defaultApp: string;
  /** What to tell `@temporalio/envconfig`; absent: Temporal's own variables and files decide. */
  temporal: {
    address?: string;
    namespace?: string;
    profile?: string;
    configFile?: string;
    /** Of its UI, without a slash at its end; absent: that of the stack, or of Temporal Cloud. */
    uiUrl?: string;
  };
  worker: {
    taskQueue: string;
    maxConcurrentActivities: number;
    shutdownGraceSeconds: number;
    commonLimit: 'on' | 'off';
    /** Where Prometheus finds the worker's metrics, `address:port`; absent: nowhere. */
    metricsAddress?: string;
    deploymentName: string;
    /** Absent: the worker has no version. */
    buildId?: string;
    /** Where the process tells whether it is ready, `address:port`; absent: nowhere. */
    healthAddress?: string;
  };
  service: {
    host: string;
    /** 0: any free port. */
    port: number;
    dataDir: string;
    /** Accounts of the service; absent: `accounts.toml` in `dataDir`, if there is one. */
    accountsFile?: string;
    /** Faults that the service has on purpose; absent: `faults.toml` in `dataDir`, if there is one. */
    faultsFile?: string;
    conversionTimeoutSeconds: number;
    conversionConcurrency: number;
    maxConversionMemoryBytes: number;
    maxUploadBytes: number;
    callbackTimeoutSeconds: number;
    callbackMaxAttempts: number;
    callbackFirstRetrySeconds: number;
    callbackMaxRetrySeconds: number;
    callbackDeadlineSeconds: number;
    maxDataBytes: number;
    maxFormFields: number;
    maxDataDepth: number;
    headersTimeoutSeconds: number;
    bodyTimeoutSeconds: number;
    maxStoredBytes: number;
    minFreeBytes: number;
    cleanupIntervalSeconds: number;
    taskRetentionDays: number;
    metricsAddress?: string;
    healthAddress?: string;
  };
  /** The key itself is never part of the configuration. */
  callbacks: {
    /** Whether jobs of `fileconv up` wait for a callback of the embedded service before they poll. */
    embedded: 'on' | 'off';
    host: string;
    /** 0: any free port. */
    port: number;
    /** Where services reach the receiver; absent: only the embedded one is asked to call back, and only when the next is there. */
    publicBaseUrl?: string;
    /** Where the embedded service reaches it; `fileconv up` sets it. */
    embeddedBaseUrl?: string;
    /** Variable that holds the key; absent with `keyFile`: a file in the state folder, made when it is missing. */
    keyEnv?: string;
    keyFile?: string;
    metricsAddress?: string;
    healthAddress?: string;
  };
  /** Whether metrics and health may be told to other machines: without it each of these addresses must be this machine's own. */
  metrics: { remote: 'on' | 'off' };
  /** Of the processes that run until they are asked to end. `auto`: text on a terminal, else JSON. */
  log: { level: LogLevel; format: 'auto' | 'json' | 'text' };
  /** Of the payloads in Temporal; off without a source of keys, which are never part of the configuration themselves. */
  encryption: { keyEnv?: string; keyFile?: string };
  /** The codec server, which decrypts payloads for the Temporal UI. */
  codec: {
    host: string;
    /** 0: any free port. */
    port: number;
    /** Where the UI that may ask is opened; only its origin counts. */
    uiOrigin?: string;
    /** Whoever asks must know the token; absent: nobody needs one. */
    tokenEnv?: string;
    tokenFile?: string;
  };
  timeouts: { connectSeconds: number; headersSeconds: number; bodySeconds: number; stallSeconds: number };
  policies: {
    onUnknownOutcome: OnUnknownOutcome;
    onExisting: OnExisting;
    maxResubmissions: number;
    uploadDeadline: number;
    submitTimeout: number;
    submitDeadline: number;
    conversionDeadline: number;
    pollAfter: number;
    unknownOutcomeWait: number;
    downloadDeadline: number;
    creditsDeadline: number;
    firstCheckAfter: number;
    maxCheckInterval: number;
    retryInitialInterval: number;
    retryMaximumInterval: number;
  };
  apps: Record<string, AppProfile>;
  state: { dir: string };
}

/** Makes a path of this key absolute, by the place where it was written. */
type ResolvePath = (key: string, value: string) => string;

export function toConfig(values: FileValues, apps: Record<string, AppProfile>, resolvePath: ResolvePath): Config {
  const { temporal, worker, service, callbacks, metrics, log, encryption, codec, timeouts, policies } = values;
  const stateDir = resolvePath('state.dir', values.state.dir);
  return {
    defaultApp: values.default_app,
    temporal: {
      ...(temporal.address !== undefined && { address: temporal.address }),
      ...(temporal.namespace !== undefined && { namespace: temporal.namespace }),
      ...(temporal.profile !== undefined && { profile: temporal.profile }),
      ...(temporal.config_file !== undefined && {
        configFile: resolvePath('temporal.config_file', temporal.config_file),
      }),
      ...(temporal.ui_url !== undefined && { uiUrl: temporal.ui_url }),
    },
    worker: {
      taskQueue: worker.task_queue,
      maxConcurrentActivities: worker.max_concurrent_activities,
      shutdownGraceSeconds: worker.shutdown_grace_seconds,
      commonLimit: worker.common_limit,
      ...ownAddresses(worker),
      deploymentName: worker.deployment_name,
      ...(worker.build_id !== undefined && { buildId: worker.build_id }),
    },
    service: {
      host: service.host,
      port: service.port,
      dataDir:
        service.data_dir === undefined
          ? path.join(stateDir, 'service')
          : resolvePath('service.data_dir', service.data_dir),
      ...(service.accounts_file !== undefined && {
        accountsFile: resolvePath('service.accounts_file', service.accounts_file),
      }),
      ...(service.faults_file !== undefined && {
        faultsFile: resolvePath('service.faults_file', service.faults_file),
      }),
      conversionTimeoutSeconds: service.conversion_timeout_seconds,
      conversionConcurrency: service.conversion_concurrency,
      maxConversionMemoryBytes: service.max_conversion_memory_bytes,
      maxUploadBytes: service.max_upload_bytes,
      callbackTimeoutSeconds: service.callback_timeout_seconds,
      callbackMaxAttempts: service.callback_max_attempts,
      callbackFirstRetrySeconds: service.callback_first_retry_seconds,
      callbackMaxRetrySeconds: service.callback_max_retry_seconds,
      callbackDeadlineSeconds: service.callback_deadline_seconds,
      maxDataBytes: service.max_data_bytes,
      maxFormFields: service.max_form_fields,
      maxDataDepth: service.max_data_depth,
      headersTimeoutSeconds: service.headers_timeout_seconds,
      bodyTimeoutSeconds: service.body_timeout_seconds,
      maxStoredBytes: service.max_stored_bytes,
      minFreeBytes: service.min_free_bytes,
      cleanupIntervalSeconds: service.cleanup_interval_seconds,
      taskRetentionDays: service.task_retention_days,
      ...ownAddresses(service),
    },
    callbacks: {
      embedded: callbacks.embedded,
      host: callbacks.host,
      port: callbacks.port,
      ...(callbacks.public_base_url !== undefined && { publicBaseUrl: callbacks.public_base_url }),
      ...(callbacks.embedded_base_url !== undefined && { embeddedBaseUrl: callbacks.embedded_base_url }),
      ...(callbacks.key_env !== undefined && { keyEnv: callbacks.key_env }),
      ...(callbacks.key_file !== undefined && { keyFile: resolvePath('callbacks.key_file', callbacks.key_file) }),
      ...ownAddresses(callbacks),
    },
    metrics: { remote: metrics.remote },
    log: { level: log.level, format: log.format },
    encryption: {
      ...(encryption.key_env !== undefined && { keyEnv: encryption.key_env }),
      ...(encryption.key_file !== undefined && { keyFile: resolvePath('encryption.key_file', encryption.key_file) }),
    },
    codec: {
      host: codec.host,
      port: codec.port,
      ...(codec.ui_origin !== undefined && { uiOrigin: codec.ui_origin }),
      ...(codec.token_env !== undefined && { tokenEnv: codec.token_env }),
      ...(codec.token_file !== undefined && { tokenFile: resolvePath('codec.token_file', codec.token_file) }),
    },
    timeouts: {
      connectSeconds: timeouts.connect_seconds,
      headersSeconds: timeouts.headers_seconds,
      bodySeconds: timeouts.body_seconds,
      stallSeconds: timeouts.stall_seconds,
    },
    policies: {
      onUnknownOutcome: policies.on_unknown_outcome,
      onExisting: policies.on_existing,
      maxResubmissions: policies.max_resubmissions,
      uploadDeadline: policies.upload_deadline,
      submitTimeout: policies.submit_timeout,
      submitDeadline: policies.submit_deadline,
      conversionDeadline: policies.conversion_deadline,
      pollAfter: policies.poll_after,
      unknownOutcomeWait: policies.unknown_outcome_wait,
      downloadDeadline: policies.download_deadline,
      creditsDeadline: policies.credits_deadline,
      firstCheckAfter: policies.first_check_after,
      maxCheckInterval: policies.max_check_interval,
      retryInitialInterval: policies.retry_initial_interval,
      retryMaximumInterval: policies.retry_maximum_interval,
    },
    apps,
    state: { dir: stateDir },
  };
}

/** Where a process tells of itself. */
function ownAddresses(section: { metrics_address?: string | undefined; health_address?: string | undefined }) {
  const { metrics_address: metricsAddress, health_address: healthAddress } = section;
  return {
    ...(metricsAddress !== undefined && { metricsAddress }),
    ...(healthAddress !== undefined && { healthAddress }),
  };
}
