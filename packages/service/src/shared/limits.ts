import { availableParallelism } from 'node:os';

/**
 * A limit of the service. This declaration is the only one: the options of the service and their checks, the keys of `fileconv.toml`,
 * their defaults and their documentation are derived from it.
 */
export interface Limit {
  /** Key under `[service]` of `fileconv.toml`. Times are in seconds or days there, as the key says, and in milliseconds as an option. */
  readonly key: string;
  /** Completes the row of the key in `docs/configuration.md`. */
  readonly description: string;
  /** In the unit of the key, as are the bounds. */
  readonly default: number;
  /** Default 1. */
  readonly min?: number;
  /** Default: no bound; seconds may then have a fraction. */
  readonly max?: number;
  /** Describes a default that differs between machines. */
  readonly absent?: string;
}

const MiB = 1024 ** 2;
const GiB = 1024 ** 3;

/** What one caller, one file or one conversion may use of the service and its machine. */
export const serviceLimits = {
  /** Excludes the time that a conversion waits for an engine. */
  conversionTimeoutMs: {
    key: 'conversion_timeout_seconds',
    description: 'limit of one conversion; its process is then killed',
    default: 120,
  },
  conversionConcurrency: {
    key: 'conversion_concurrency',
    description: 'conversions at a time',
    default: Math.min(256, availableParallelism()),
    absent: 'one a core',
    max: 256,
  },
  maxConversionMemoryBytes: {
    key: 'max_conversion_memory_bytes',
    description: 'memory of one conversion with its engine; documents need at least 512 MiB',
    default: 2 * GiB,
    min: 128 * MiB,
  },
  maxWrittenBytes: {
    key: 'max_written_bytes',
    description: 'what one conversion may write to the disk, its result included; never more than `max_stored_bytes`',
    default: 2 * GiB,
  },
  maxUploadBytes: {
    key: 'max_upload_bytes',
    description: 'size of one file; the engines read no more',
    default: 256 * MiB,
  },
  maxDataBytes: { key: 'max_data_bytes', description: 'size of a form without its file', default: MiB },
  maxFormFields: { key: 'max_form_fields', description: 'fields of a form', default: 20, max: 1_000 },
  maxDataDepth: {
    key: 'max_data_depth',
    description: 'nesting of the JSON in the field `data`',
    default: 32,
    min: 3,
    max: 1_000,
  },
  headersTimeoutMs: { key: 'headers_timeout_seconds', description: 'time for the headers of a request', default: 20 },
  bodyTimeoutMs: {
    key: 'body_timeout_seconds',
    description: 'time for the body of a request, and for each further 64 KiB of it',
    default: 60,
  },
  maxStoredBytes: {
    key: 'max_stored_bytes',
    description:
      'all uploads and outputs together; beyond it requests get `INTERNAL_SERVER_ERROR`, which clients retry',
    default: 50 * GiB,
  },
  minFreeBytes: {
    key: 'min_free_bytes',
    description: 'space that uploads and outputs leave free on the disk',
    default: 256 * MiB,
    min: 0,
  },
  cleanupIntervalMs: {
    key: 'cleanup_interval_seconds',
    description: 'between two removals of expired files and old tasks',
    default: 300,
  },
  taskRetentionMs: {
    key: 'task_retention_days',
    description: 'how long a completed task can be queried',
    default: 30,
    max: 36_500,
  },
} as const satisfies Readonly<Record<string, Limit>>;

/** Delivery of callbacks. Fifteen attempts take six hours or more: a night, until somebody repairs the receiver. */
export const callbackLimits = {
  /** From resolving the host name to the end of the answer. */
  timeoutMs: { key: 'callback_timeout_seconds', description: 'one attempt to deliver a callback', default: 15 },
  maxAttempts: {
    key: 'callback_max_attempts',
    description: 'attempts to deliver a callback, in all',
    default: 15,
    max: 1_000,
  },
  firstRetryMs: {
    key: 'callback_first_retry_seconds',
    description: 'pause after the first failed attempt; it doubles each time. A RETRY-AFTER is waited for in full',
    default: 10,
  },
  maxRetryMs: { key: 'callback_max_retry_seconds', description: 'longest pause between two attempts', default: 3_600 },
  maxAgeMs: {
    key: 'callback_deadline_seconds',
    description: 'from the end of the task to the last attempt',
    default: 86_400,
    max: 30 * 86_400,
  },
} as const satisfies Readonly<Record<string, Limit>>;

/** Times are in milliseconds. */
export type ServiceLimits = { [Name in keyof typeof serviceLimits]: number };
export type CallbackLimits = { [Name in keyof typeof callbackLimits]: number };

/** The keys of all limits under `[service]` of `fileconv.toml`. */
export type LimitKey =
  (typeof serviceLimits)[keyof ServiceLimits]['key'] | (typeof callbackLimits)[keyof CallbackLimits]['key'];

const maxTimerMs = 2 ** 31 - 1;

/** The limits with their defaults. @throws Error for the first invalid one. */
export function checkLimits<Name extends string>(
  limits: Readonly<Record<Name, Limit>>,
  options: Readonly<Partial<Record<NoInfer<Name>, number>>>,
  prefix = '',
): Record<Name, number> {
  return mapLimits(limits, ({ key, default: usual, ...bounds }, name) => {
    const unit = unitOf(key);
    const { [name]: value = usual * unit } = options;
    // Programs may set times shorter than any that a person would write down.
    const min = unit === 1 ? (bounds.min ?? 1) : 1;
    const maxByDefault = key.endsWith('_seconds') ? maxTimerMs : Number.MAX_SAFE_INTEGER;
    const max = bounds.max === undefined ? maxByDefault : bounds.max * unit;
    if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
    const bound = value > max ? `at most ${max}` : `at least ${min}`;
    throw new Error(`${prefix}${name} must be a whole number of ${bound}, not ${value}.`);
  });
}

/** Converts values with the names and units of `fileconv.toml` to options. */
export function optionsOf<Name extends string>(
  limits: Readonly<Record<Name, Limit>>,
  valueOf: (key: string) => unknown,
): Record<Name, number> {
  return mapLimits(limits, ({ key }) => Math.ceil(Number(valueOf(key)) * unitOf(key)));
}

function mapLimits<Name extends string>(
  limits: Readonly<Record<Name, Limit>>,
  map: (limit: Limit, name: Name) => number,
): Record<Name, number> {
  const names = Object.keys(limits) as Name[];
  return Object.fromEntries(names.map((name) => [name, map(limits[name], name)])) as Record<Name, number>;
}

/** For messages, in MiB, KiB or bytes. Sizes beyond 10 MiB are rounded up to whole MiB. */
export function showBytes(bytes: number): string {
  if (bytes % MiB === 0 || bytes > 10 * MiB) return `${Math.ceil(bytes / MiB)} MiB`;
  return bytes % 1024 === 0 ? `${bytes / 1024} KiB` : `${bytes} bytes`;
}

function unitOf(key: string): number {
  if (key.endsWith('_seconds')) return 1_000;
  return key.endsWith('_days') ? 24 * 60 * 60 * 1_000 : 1;
}
