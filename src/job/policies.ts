/** What to do when the destination already exists. */
export const onExistingChoices = ['fail', 'skip', 'overwrite', 'rename'] as const;
export type OnExisting = (typeof onExistingChoices)[number];

/** How to handle a file that the service is known not to convert. */
export const unconvertibleChoices = ['fail', 'skip'] as const;
export type Unconvertible = (typeof unconvertibleChoices)[number];

/** What to do when it is unknown whether a submitted conversion ran. */
const onUnknownOutcomeChoices = ['resubmit', 'fail'] as const;
export type OnUnknownOutcome = (typeof onUnknownOutcomeChoices)[number];

/** Checks of a result before it gets its name. */
const resultChecks = ['bytes', 'opens', 'command'] as const;
export type ResultCheck = (typeof resultChecks)[number];

/** What a job does if the service refuses its account. */
const onRefusedAccountChoices = ['fail', 'park'] as const;

/** When the service answers a convert request: on acceptance, or when the conversion is done. */
export const conversionModes = ['async', 'sync'] as const;
export type ConversionMode = (typeof conversionModes)[number];

/** Milliseconds, or text such as `'10 minutes'` or `'7 days'`. */
export type Duration = number | string;

/** Declaration of a policy. */
export type Policy =
  | {
      kind: 'duration';
      /** As written in `fileconv.toml`. */
      default: string;
      /** A value learned by the worker takes precedence over the default. */
      isLearned?: true;
      description: string;
    }
  | { kind: 'count'; default: number; max: number; description: string }
  | {
      kind: 'choice';
      choices: readonly string[];
      default: string;
      description: string;
      see: string;
      /** Help text of its command-line option. Default: no option. */
      option?: string;
    };

function duration<const Default extends string>(byDefault: Default, description: string) {
  return { kind: 'duration', default: byDefault, description } as const;
}

/** Single source for each policy: type, default, validation, `fileconv.toml` key and reference line derive from it. */
export const policies = {
  onUnknownOutcome: {
    kind: 'choice',
    choices: onUnknownOutcomeChoices,
    default: 'resubmit',
    description: 'what to do if it is unknown whether a submit ran: `resubmit` may be charged twice, and is marked',
    see: '[unknown outcomes](errors.md#unknown-outcomes)',
    option: 'after an unknown outcome',
  },
  onRefusedAccount: {
    kind: 'choice',
    choices: onRefusedAccountChoices,
    default: 'fail',
    description:
      'what a job does whose account the service refuses: `park` waits until it is accepted again. Unset, the jobs of batches and schedules park',
    see: '[parked jobs](errors.md#parked-jobs)',
  },
  check: {
    kind: 'choice',
    choices: resultChecks,
    default: 'bytes',
    description:
      'what is looked at before a result gets its name: `bytes` its beginning and end, `opens` also whether it opens, `command` also what the program of `worker.check_command` says',
    see: '[check results](batches.md#check-results)',
    option: 'check of results',
  },
  maxResubmissions: {
    kind: 'count',
    default: 3,
    max: 100,
    description: 'how often a job submits again, after unknown outcomes and after failures of the service together',
  },
  uploadDeadline: duration('24 hours', 'longest time for the upload, all attempts together'),
  submitTimeout: duration('2 minutes', 'longest time for one convert request, from its first byte to its answer'),
  submitDeadline: duration(
    '24 hours',
    'longest time until the service has accepted the conversion, all attempts together',
  ),
  conversionDeadline: duration('7 days', 'longest time from the accepted submit to the completed conversion'),
  firstCheckAfter: {
    ...duration(
      '2 seconds',
      'first poll. Unless you set it, a worker learns from earlier conversions of the same formats when to poll first',
    ),
    isLearned: true,
  },
  maxCheckInterval: duration('60 seconds', 'longest pause between two polls; the pauses grow up to it'),
  pollAfter: duration('60 seconds', 'with callbacks: first poll if none has come'),
  unknownOutcomeWait: duration(
    '10 minutes',
    'with callbacks: wait for the callback that tells whether a submit with an unknown outcome ran',
  ),
  downloadDeadline: duration('24 hours', 'longest time for the download, all attempts together'),
  parkedDeadline: duration(
    '7 days',
    'how long a job waits for a person, all waits together: for vCredits, for its account to be accepted, for room at its destination',
  ),
  retryInitialInterval: duration(
    '1 second',
    'pause before the first retry of an upload, a poll or a download that failed',
  ),
  retryMaximumInterval: duration(
    '60 seconds',
    'longest pause between two retries; a parked job waits so long at first, then twice as long each time, up to an hour',
  ),
} as const satisfies Record<string, Policy>;

type Policies = typeof policies;
export type PolicyName = keyof Policies;
type Kind<Name extends PolicyName> = Policies[Name]['kind'];

/** Policies with a command-line option. */
export type OptionPolicy = {
  [Name in PolicyName]: Policies[Name] extends { option: string } ? Name : never;
}[PolicyName];

export type DurationPolicy = { [Name in PolicyName]: Kind<Name> extends 'duration' ? Name : never }[PolicyName];

type Value<Name extends PolicyName> = Policies[Name] extends { choices: readonly (infer Choice)[] }
  ? Choice
  : Kind<Name> extends 'duration'
    ? Duration
    : number;

/** Deadlines and choices of a job, see `docs/configuration.md`. Durations: milliseconds or text like `'10 minutes'`. */
export type ConversionPolicies = { [Name in PolicyName]?: Value<Name> };

export const defaultPolicies = Object.fromEntries(
  Object.entries(policies).map(([name, policy]) => [name, policy.default]),
) as { readonly [Name in PolicyName]: Policies[Name]['default'] };

export const defaultOnExisting: OnExisting = 'fail';
