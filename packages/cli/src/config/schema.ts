import { availableParallelism } from 'node:os';
import { onExistingChoices, onUnknownOutcomeChoices } from 'temporal-file-conversion/internal/shared/choices';
import { defaultOnExisting, defaultPolicies } from 'temporal-file-conversion/internal/shared/policies';
import { logLevels } from 'temporal-file-conversion/internal/shared/log';
import { defaultDeploymentName, defaultTaskQueue } from 'temporal-file-conversion/internal/shared/names';
import { z } from 'zod';
import { snakeCase } from './key-spelling';
import { baseUrl, choice, deploymentName, duration, integer, listenAddress, seconds, text } from './value-types';

/** The profile of the embedded conversion service; it needs no entry under `[apps]`. */
export const embeddedApp = 'embedded';

/**
 * Keys by section, as they are written in the file. The variable of a key is FILECONV_<SECTION>_<KEY>. A key that ends with `dir` or `_file` is
 * a path. Secrets are never part of the configuration, only where they are found.
 */
export const sectionSchemas = {
  /** What to tell `@temporalio/envconfig`; absent: Temporal's own variables and files decide. */
  temporal: z.strictObject({
    address: text().optional(),
    namespace: text().optional(),
    profile: text().optional(),
    config_file: text().optional(),
    /** Absent: that of the stack, or of Temporal Cloud. */
    ui_url: baseUrl().optional(),
  }),
  worker: z.strictObject({
    task_queue: text(),
    max_concurrent_activities: integer(1, 1_000),
    shutdown_grace_seconds: seconds(),
    common_limit: choice('on', 'off'),
    /** Where Prometheus finds the metrics of the process; absent: nowhere. */
    metrics_address: listenAddress().optional(),
    /** Where the process tells whether it is ready; absent: nowhere. */
    health_address: listenAddress().optional(),
    deployment_name: deploymentName(),
    /** Absent: the worker has no version. */
    build_id: text().optional(),
  }),
  service: z.strictObject({
    host: text(),
    /** 0: any free port. */
    port: integer(0, 65_535),
    /** Absent: `service` in the state folder. */
    data_dir: text().optional(),
    /** Absent: `accounts.toml` in `data_dir`, if there is one. */
    accounts_file: text().optional(),
    /** Absent: `faults.toml` in `data_dir`, if there is one. */
    faults_file: text().optional(),
    conversion_timeout_seconds: seconds(),
    conversion_concurrency: integer(1, 256),
    max_conversion_memory_bytes: integer(128 * 1024 ** 2, Number.MAX_SAFE_INTEGER),
    max_upload_bytes: integer(1, Number.MAX_SAFE_INTEGER),
    callback_timeout_seconds: seconds(),
    callback_max_attempts: integer(1, 1_000),
    callback_first_retry_seconds: seconds(),
    callback_max_retry_seconds: seconds(),
    callback_deadline_seconds: integer(1, 30 * 86_400),
    max_data_bytes: integer(1, Number.MAX_SAFE_INTEGER),
    max_form_fields: integer(1, 1_000),
    max_data_depth: integer(3, 1_000),
    headers_timeout_seconds: seconds(),
    body_timeout_seconds: seconds(),
    max_stored_bytes: integer(1, Number.MAX_SAFE_INTEGER),
    min_free_bytes: integer(0, Number.MAX_SAFE_INTEGER),
    cleanup_interval_seconds: seconds(),
    task_retention_days: integer(1, 36_500),
    metrics_address: listenAddress().optional(),
    health_address: listenAddress().optional(),
  }),
  callbacks: z.strictObject({
    /** Whether jobs of `fileconv up` wait for a callback of the embedded service before they poll. */
    embedded: choice('on', 'off'),
    host: text(),
    port: integer(0, 65_535),
    /** Where services reach the receiver; absent: only the embedded one is asked to call back, and only when the next is there. */
    public_base_url: baseUrl().optional(),
    /** Where the embedded service reaches it; `fileconv up` sets it. */
    embedded_base_url: baseUrl().optional(),
    /** Without either: a file in the state folder, made when it is missing. */
    key_env: text().optional(),
    key_file: text().optional(),
    metrics_address: listenAddress().optional(),
    health_address: listenAddress().optional(),
  }),
  /** Whether metrics and health may be told to other machines: without it each of these addresses must be this machine's own. */
  metrics: z.strictObject({ remote: choice('on', 'off') }),
  /** Of the processes that run until they are asked to end. `auto`: text on a terminal, else JSON. */
  log: z.strictObject({ level: choice(...logLevels), format: choice('auto', 'json', 'text') }),
  /** Of the payloads in Temporal; off without a source of keys. */
  encryption: z.strictObject({
    key_env: text().optional(),
    key_file: text().optional(),
  }),
  /** The codec server, which decrypts payloads for the Temporal UI. */
  codec: z.strictObject({
    host: text(),
    port: integer(0, 65_535),
    /** Where the UI that may ask is opened; only its origin counts. */
    ui_origin: baseUrl().optional(),
    /** Whoever asks must know the token; without either nobody needs one. */
    token_env: text().optional(),
    token_file: text().optional(),
  }),
  timeouts: z.strictObject({
    connect_seconds: seconds(),
    headers_seconds: seconds(),
    body_seconds: seconds(),
    stall_seconds: seconds(),
  }),
  policies: z.strictObject({
    on_unknown_outcome: choice(...onUnknownOutcomeChoices),
    on_existing: choice(...onExistingChoices),
    max_resubmissions: integer(0, 100),
    upload_deadline: duration(),
    submit_timeout: duration(),
    submit_deadline: duration(),
    conversion_deadline: duration(),
    poll_after: duration(),
    unknown_outcome_wait: duration(),
    download_deadline: duration(),
    credits_deadline: duration(),
    first_check_after: duration(),
    max_check_interval: duration(),
    retry_initial_interval: duration(),
    retry_maximum_interval: duration(),
  }),
  state: z.strictObject({ dir: text() }),
};

/** One entry under `[apps]`. Which of the token's keys are given is checked afterwards: it depends on their origins. */
export const appSchema = z.strictObject({
  base_url: baseUrl(),
  app_id: text(),
  token_env: text().optional(),
  token_file: text().optional(),
});

export const fileSchema = z.strictObject({
  default_app: text(),
  ...sectionSchemas,
  apps: z.record(z.string(), appSchema),
});

export type FileValues = z.infer<typeof fileSchema>;

/** The defaults, as one would write them in the file. Those of the policies are the workflow's own. */
export function defaultValues(): Record<string, unknown> {
  return {
    default_app: embeddedApp,
    worker: {
      task_queue: defaultTaskQueue,
      max_concurrent_activities: 50,
      shutdown_grace_seconds: 30,
      common_limit: 'off',
      deployment_name: defaultDeploymentName,
    },
    service: {
      host: '127.0.0.1',
      port: 8465,
      conversion_timeout_seconds: 120,
      conversion_concurrency: Math.min(256, availableParallelism()),
      max_conversion_memory_bytes: 2 * 1024 ** 3,
      max_upload_bytes: 256 * 1024 ** 2,
      callback_timeout_seconds: 15,
      callback_max_attempts: 15,
      callback_first_retry_seconds: 10,
      callback_max_retry_seconds: 3_600,
      callback_deadline_seconds: 86_400,
      max_data_bytes: 1024 ** 2,
      max_form_fields: 20,
      max_data_depth: 32,
      headers_timeout_seconds: 20,
      body_timeout_seconds: 60,
      max_stored_bytes: 50 * 1024 ** 3,
      min_free_bytes: 256 * 1024 ** 2,
      cleanup_interval_seconds: 300,
      task_retention_days: 30,
    },
    callbacks: { embedded: 'on', host: '127.0.0.1', port: 8466 },
    metrics: { remote: 'off' },
    log: { level: 'info', format: 'auto' },
    codec: { host: '127.0.0.1', port: 8467 },
    timeouts: { connect_seconds: 10, headers_seconds: 60, body_seconds: 60, stall_seconds: 60 },
    policies: { on_existing: defaultOnExisting, ...inFileSpelling(defaultPolicies) },
    state: { dir: '.fileconv' },
  };
}

function inFileSpelling(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [snakeCase(key), value]));
}
