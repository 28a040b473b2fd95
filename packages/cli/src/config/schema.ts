import {
  callbackLimits,
  engineNames,
  type Limit,
  type LimitKey,
  serviceLimits,
} from 'temporal-file-conversion-service/settings';
import {
  type ConversionPolicies,
  defaultDeploymentName,
  defaultOnExisting,
  defaultTaskQueue,
  type DurationPolicy,
  noticeTypes,
  onExistingChoices,
  policies,
  type Policy,
  type PolicyName,
  unconvertibleChoices,
} from 'temporal-file-conversion/job';
import { closestName, logLevels } from 'temporal-file-conversion/messages';
import { z } from 'zod';
import {
  baseUrl,
  bytes,
  choice,
  deploymentName,
  duration,
  hosts,
  integer,
  listenAddress,
  names,
  noticeUrl,
  seconds,
  secretFile,
  text,
  variable,
} from './value-types';

/** The profile of the embedded conversion service; it needs no entry under `[apps]`. */
export const embeddedApp = 'embedded';

/** Addresses that every long-running process has. */
const ownAddresses = {
  metrics_address: listenAddress().optional().meta({
    description: 'where the process serves Prometheus metrics, for example `127.0.0.1:9464`; without it nowhere',
    see: '[metrics](operations/metrics.md)',
  }),
  health_address: listenAddress().optional().meta({
    description: 'where it serves `/healthz` and `/readyz`, for example `127.0.0.1:9470`; without it nowhere',
    see: '[deploy](operations/deploy.md#health-and-readiness)',
  }),
};

/** The keys of the service's limits, which the service declares itself. */
const limitKeys = Object.fromEntries(
  Object.values<Limit>({ ...serviceLimits, ...callbackLimits }).map((limit) => [limit.key, limitSchema(limit)]),
) as Record<LimitKey, ReturnType<typeof limitSchema>>;

type PolicySchema<Name extends PolicyName> = Name extends DurationPolicy
  ? ReturnType<typeof duration>
  : (typeof policies)[Name]['kind'] extends 'count'
    ? ReturnType<typeof integer>
    : z.ZodType<NonNullable<ConversionPolicies[Name]>>;

const policyKeys = Object.fromEntries(
  Object.entries<Policy>(policies).map(([name, policy]) => [snakeCase(name), policySchema(policy)]),
) as { [Name in PolicyName as SnakeCase<Name>]: PolicySchema<Name> };

/**
 * Keys by section, as written in the file, and their meaning. `scripts/config-reference.mjs` generates fileconv.schema.json and the
 * tables of docs/configuration.md from them. They hold only the places of secrets, never the secrets.
 */
export const sectionSchemas = {
  temporal: section(
    "Your Temporal server. Without a value here, Temporal's own variables and profiles apply; a value here overrides them.",
    {
      address: text().optional().meta({
        description: '`host:port` of the server',
        absent: "Temporal's own variables and files; without those `fileconv up` runs a server",
      }),
      namespace: text().optional().meta({
        description: 'namespace of jobs and batches',
        absent: "that of Temporal's own profile, else `default`",
      }),
      ui_url: baseUrl().optional().meta({
        description: 'base URL of the Temporal UI, for the links in `job show`, `doctor` and batch reports',
        absent: 'UI of `fileconv up`, or of Temporal Cloud',
      }),
    },
  ),
  worker: section('The worker.', {
    task_queue: text().prefault(defaultTaskQueue).describe('task queue of workers and of the jobs that are started'),
    max_concurrent_activities: integer(1, 1_000)
      .prefault(50)
      .describe('activities at a time in one worker, and so files in transfer'),
    shutdown_grace_seconds: seconds().prefault(30).meta({
      description: 'how long an activity may continue after SIGTERM',
      see: '[drain](operations/drain-and-scale.md)',
    }),
    common_limit: choice('on', 'off').prefault('off').meta({
      description: '`"on"`: the worker obeys a limit of the task queue, at the cost of a little speed',
      see: '[drain and scale](operations/drain-and-scale.md)',
    }),
    nexus_apps: names().prefault([]).meta({
      description: 'app profiles that callers of the Nexus service may use; without any it is not served',
      see: '[Nexus](embedding/nexus.md)',
    }),
    roots: names().prefault([]).meta({
      description:
        'folders that `file:` URIs of jobs may lead to, with the state folder; without any all that the worker’s user may use',
      shown: 'list of paths',
    }),
    shared_files: choice('on', 'off').prefault('off').meta({
      description:
        '`"on"`: workers on all hosts see the same files under the same paths, so that any of them may write a result',
      see: '[drain and scale](operations/drain-and-scale.md)',
    }),
    check_command: names()
      .refine(({ length }) => length > 0, 'must name a program; leave it out to use none')
      .optional()
      .meta({
        description:
          'program, and its arguments, that is given the path of each result whose `check` is `command`; it says that the result is good by exit code 0',
        see: '[check results](batches.md#check-results)',
        shown: 'list of words',
      }),
    check_seconds: seconds().prefault(300).describe('how long that program may take for one result'),
    ...ownAddresses,
    deployment_name: deploymentName()
      .prefault(defaultDeploymentName)
      .describe("name of the worker deployment, for Temporal's worker versioning"),
    build_id: text().optional().meta({
      description: 'version of the worker in that deployment; without it the worker takes work of every version',
      see: '[upgrade](operations/upgrade.md)',
    }),
  }),
  service: section('The embedded conversion service.', {
    host: text()
      .prefault('127.0.0.1')
      .describe('where the service listens; other addresses than loopback need `allow_remote`'),
    allow_remote: choice('on', 'off').prefault('off').meta({
      description: '`"on"`: other machines may use the service, with the token of one of its apps',
      see: '[Kubernetes](operations/kubernetes.md)',
    }),
    port: integer(0, 65_535).prefault(8465).describe('its port; 0: any free one'),
    data_dir: text().optional().meta({
      description: 'folder for tasks, uploads and outputs',
      absent: '`service` in `state.dir`',
    }),
    accounts_file: text().optional().meta({
      description: 'further apps',
      absent: '`accounts.toml` in `service.data_dir`',
      see: '[accounts](service/accounts.md)',
    }),
    faults_file: text().optional().meta({
      description: 'faults to inject',
      absent: '`faults.toml` in `service.data_dir`',
      see: '[faults](service/faults.md)',
    }),
    engines: names(engineNames).optional().meta({
      description: 'the engines that may be used, the first choice first',
      absent: 'all',
      see: '[engines](service/engines.md#engines)',
    }),
    ...limitKeys,
    ...ownAddresses,
  }).meta({ see: '[the embedded service](service/README.md)' }),
  callbacks: section('The callback receiver.', {
    embedded: choice('on', 'off').prefault('on').describe('`"off"`: jobs of `fileconv up` poll, and no receiver runs'),
    host: text().prefault('127.0.0.1').describe('where the receiver listens'),
    port: integer(0, 65_535).prefault(8466).describe('its port; 0: any free one'),
    public_base_url: baseUrl()
      .optional()
      .describe('where services reach the receiver; without it only the embedded service is asked to call back'),
    embedded_base_url: baseUrl().optional().meta({
      description: 'where the embedded service reaches it',
      absent: 'set by `fileconv up`',
    }),
    key_env: variable().optional().describe('variable that holds the key'),
    key_file: secretFile().optional().meta({
      description: 'file that holds the key; the default file is created if it is missing',
      absent: '`callbacks.key` in `state.dir`',
    }),
    ...ownAddresses,
  }).meta({ see: '[callbacks](callbacks.md)' }),
  metrics: section('Metrics and health of every process.', {
    remote: choice('on', 'off')
      .prefault('off')
      .describe('`"on"`: metrics and health addresses need not be loopback addresses'),
  }),
  log: section('The log of worker, receiver and service.', {
    level: choice(...logLevels)
      .prefault('info')
      .meta({ description: 'least level that is logged', see: '[logs](operations/logs.md)' }),
  }),
  encryption: section('Encryption of payloads in Temporal; off without either key.', {
    key_env: variable().optional().describe('variable that holds the keys'),
    key_file: secretFile().optional().describe('file that holds the keys'),
  }).meta({ see: '[encryption](operations/encryption.md)' }),
  codec: section('The codec server, which decrypts payloads for the Temporal UI.', {
    host: text()
      .prefault('127.0.0.1')
      .describe('where the codec server listens; other addresses than loopback need a token'),
    port: integer(0, 65_535).prefault(8467).describe('its port; 0: any free one'),
    ui_origin: baseUrl().optional().meta({
      description: 'origin of the Temporal UI that may use the codec server',
      absent: 'UI of `fileconv up`',
    }),
    token_env: variable().optional().describe('variable that holds the token that requests must have'),
    token_file: secretFile().optional().describe('file that holds that token'),
  }).meta({ see: '[encryption](operations/encryption.md)' }),
  timeouts: section('Requests of workers to a conversion service.', {
    connect_seconds: seconds().prefault(10).describe('time to connect to a service'),
    headers_seconds: seconds().prefault(60).describe('time until the head of an answer'),
    body_seconds: seconds()
      .prefault(60)
      .describe('of a download: time without a byte; of any other answer: time until it is complete'),
    stall_seconds: seconds().prefault(60).describe('time without progress of an upload'),
  }),
  policies: section(
    'Policies of every job. In `policies` of a request, in camel case (`uploadDeadline`), they apply to one job; durations there may also be milliseconds.',
    {
      on_existing: choice(...onExistingChoices)
        .prefault(defaultOnExisting)
        .describe(
          'what to do if the destination exists; `"rename"` writes `report (1).pdf`. In a request it stands beside `policies`',
        ),
      unconvertible: choice(...unconvertibleChoices)
        .prefault('fail')
        .describe(
          'what becomes of the files of batches and schedules that the service is known not to convert: `"skip"` leaves them out, and none of them counts as failed',
        ),
      ...policyKeys,
    },
  ),
  https: section('The store of `https:` URIs, which are only read.', {
    allowed_hosts: hosts().prefault([]).meta({
      description: 'hosts, addresses and networks such as `10.0.0.0/8` that may be read though they are not public',
    }),
    plain_http: choice('on', 'off').prefault('off').describe('`"on"`: reads `http:` URIs as well'),
    max_bytes: bytes(1)
      .prefault(5 * 1024 ** 3)
      .describe('larger files are refused'),
  }).meta({ see: '[object stores](operations/object-stores.md#files-from-the-web)' }),
  notify: section('Who is told when a batch ends, or when somebody is needed.', {
    url: noticeUrl().optional().meta({
      description: 'gets a POST for each event; without it nobody does, but for whom `--notify` names',
    }),
    secret_env: variable().optional().describe('variable that holds the secret that signs what is sent'),
    secret_file: secretFile().optional().describe('file that holds that secret; without either key nothing is signed'),
    events: names(noticeTypes)
      .prefault([...noticeTypes])
      .meta({ description: 'the events that are told', absent: 'all' }),
    allowed_hosts: hosts().prefault([]).meta({
      description: 'hosts, addresses and networks such as `10.0.0.0/8` that may be told though they are not public',
    }),
  }).meta({ see: '[notices](notices.md)' }),
  state: section('The state folder.', {
    dir: text().prefault('.fileconv').describe('folder for everything that `fileconv up` and batches keep'),
  }),
};

/** Characters that a shell variable may contain once upper-cased; a dot would read as a nested key. */
export const appNamePattern = /^[A-Za-z0-9][\w-]*$/;

/** One entry under `[apps]`. Which token keys are given is checked later, because that depends on their origins. */
const appSchema = z.strictObject({
  base_url: baseUrl().describe('base URL of the service, without `/v1`'),
  app_id: text().describe('App ID'),
  token_env: variable().optional().describe('variable that holds the app token'),
  token_file: secretFile()
    .optional()
    .describe('file that holds the app token, read again when it changes; if others can read it, there is a warning'),
});

export const fileSchema = z.strictObject({
  default_app: text()
    .prefault(embeddedApp)
    .describe('app profile of jobs that name none; `embedded` is the service of `fileconv up`'),
  ...sectionSchemas,
  apps: z
    .record(z.string().meta({ pattern: appNamePattern.source }), appSchema)
    .prefault({})
    .describe('App profiles by name: accounts of conversion services. The token itself never stands in the file.'),
});

export type FileValues = z.infer<typeof fileSchema>;

function section<Shape extends z.ZodRawShape>(description: string, shape: Shape) {
  // Every key is optional, and so is the section. The cast is safe, because the value is an empty table.
  return z
    .strictObject(shape)
    .prefault({} as z.input<z.ZodObject<Shape, z.core.$strict>>)
    .describe(description);
}

function limitSchema({ key, description, default: byDefault, min = 1, max, absent }: Limit) {
  const whole = key.endsWith('_bytes') ? bytes(min) : integer(min, max ?? Number.MAX_SAFE_INTEGER);
  const type = max === undefined && key.endsWith('_seconds') ? seconds() : whole;
  return type.prefault(byDefault).meta({ description, ...(absent !== undefined && { absent }) });
}

function policySchema(policy: Policy): z.ZodType {
  const { description } = policy;
  switch (policy.kind) {
    case 'duration':
      return duration().prefault(policy.default).describe(description);
    case 'count':
      return integer(0, policy.max).prefault(policy.default).describe(description);
    case 'choice':
      return choice(...policy.choices)
        .prefault(policy.default)
        .meta({ description, see: policy.see });
  }
}

/**
 * What a value can open up: another machine to call or listen for (`address`), a variable (`secret`), whom this machine trusts
 * (`trust`), or a file elsewhere (`path`). A file that was found, not named, may set such keys only with permission.
 */
type Privilege = 'address' | 'secret' | 'trust' | 'path';

/** Keys of kind `trust`; the other kinds follow from the end of a key's name. */
const trusting: readonly string[] = [
  'check_command',
  'nexus_apps',
  'allow_remote',
  'remote',
  'allowed_hosts',
  'plain_http',
];

export function privilegeOf(key: string): Privilege | undefined {
  const name = key.split('.').at(-1) ?? '';
  if (isPath(name)) return 'path';
  if (name.endsWith('_env')) return 'secret';
  if (/(^|_)(address|host|url|origin)$/.test(name)) return 'address';
  return trusting.includes(name) ? 'trust' : undefined;
}

/** Paths become absolute, relative to the place where they were written. */
export function isPath(key: string): boolean {
  return key === 'dir' || key.endsWith('_dir') || key.endsWith('_file');
}

export const keysOfSection: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(sectionSchemas).map(([name, schema]) => [name, Object.keys(schema.unwrap().shape)]),
);

export const appKeys: readonly string[] = Object.keys(appSchema.shape);

export const topLevelNames: readonly string[] = ['default_app', 'apps', ...keysOfSection.keys()];

export function variableOf(section: string, key: string): string {
  return `FILECONV_${section}_${key}`.toUpperCase();
}

/** `my-app` becomes MY_APP in the name of a variable. */
export function variablePartOf(appName: string): string {
  return appName.toUpperCase().replaceAll('-', '_');
}

export function didYouMean(name: string, known: readonly string[]): string {
  const closest = closestName(name, known);
  return closest === undefined ? `; known: ${known.join(', ')}` : `; did you mean "${closest}"?`;
}

/** Turns `upload_deadline` of the file into `uploadDeadline` of the code. */
export function camelCase(key: string): string {
  return key.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}

export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export type CamelCase<Key> = Key extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : Key;

export type SnakeCase<Name> = Name extends `${infer Letter}${infer Rest}`
  ? `${Letter extends Lowercase<Letter> ? Letter : `_${Lowercase<Letter>}`}${SnakeCase<Rest>}`
  : Name;
