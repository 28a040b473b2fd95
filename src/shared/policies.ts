import { onUnknownOutcomeChoices, type OnExisting, type OnUnknownOutcome } from './choices';

/** Milliseconds, or text such as `'10 minutes'` or `'7 days'`. */
export type Duration = number | string;

type Declaration =
  | {
      kind: 'duration';
      /** As written in `fileconv.toml`. */
      default: string;
      /** A worker's learned value takes precedence over the default. */
      isLearned?: true;
      about: string;
    }
  | { kind: 'count'; default: number; about: string }
  | { kind: 'choice'; choices: readonly string[]; default: string; about: string };

/** Defines each policy once: type, default, validation, `fileconv.toml` key and reference line derive from it. */
export const policies = {
  onUnknownOutcome: {
    kind: 'choice',
    choices: onUnknownOutcomeChoices,
    default: 'resubmit',
    about: 'When it is unknown whether a submit ran: submit again, which may be charged twice and is marked, or fail.',
  },
  maxResubmissions: {
    kind: 'count',
    default: 3,
    about: 'How often a job submits again, after unknown outcomes and after failures of the service together.',
  },
  uploadDeadline: {
    kind: 'duration',
    default: '24 hours',
    about: 'Longest time for the upload, all attempts together.',
  },
  submitTimeout: {
    kind: 'duration',
    default: '2 minutes',
    about: 'Longest time for one convert request, from its first byte to its answer.',
  },
  submitDeadline: {
    kind: 'duration',
    default: '24 hours',
    about: 'Longest time until the service has accepted the conversion, all attempts together.',
  },
  conversionDeadline: {
    kind: 'duration',
    default: '7 days',
    about: 'Longest time from the accepted submit to the completed conversion.',
  },
  firstCheckAfter: {
    kind: 'duration',
    default: '2 seconds',
    isLearned: true,
    about:
      'When the first poll is sent. Unless it is set, a worker learns it from earlier conversions of the same formats.',
  },
  maxCheckInterval: {
    kind: 'duration',
    default: '60 seconds',
    about: 'Longest pause between two polls; the pauses grow up to it.',
  },
  pollAfter: {
    kind: 'duration',
    default: '60 seconds',
    about: 'With callbacks: when the first poll is sent if none has come.',
  },
  unknownOutcomeWait: {
    kind: 'duration',
    default: '10 minutes',
    about: 'With callbacks: how long to wait for the one that tells whether a submit with an unknown outcome ran.',
  },
  downloadDeadline: {
    kind: 'duration',
    default: '24 hours',
    about: 'Longest time for the download, all attempts together.',
  },
  creditsDeadline: {
    kind: 'duration',
    default: '7 days',
    about: 'Longest time for a job to stay parked without vCredits.',
  },
  retryInitialInterval: {
    kind: 'duration',
    default: '1 second',
    about: 'Pause before the first retry of an upload, a poll or a download that failed.',
  },
  retryMaximumInterval: {
    kind: 'duration',
    default: '60 seconds',
    about: 'Longest pause between two retries.',
  },
} as const satisfies Record<string, Declaration>;

type Policies = typeof policies;
type PolicyName = keyof Policies;
type Kind<Name extends PolicyName> = Policies[Name]['kind'];

export type DurationPolicy = { [Name in PolicyName]: Kind<Name> extends 'duration' ? Name : never }[PolicyName];

type Value<Name extends PolicyName> =
  Kind<Name> extends 'duration' ? Duration : Kind<Name> extends 'count' ? number : OnUnknownOutcome;

/** Deadlines and choices of a job, see `docs/configuration.md`. Durations: milliseconds or text like `'10 minutes'`. */
export type ConversionPolicies = { [Name in PolicyName]?: Value<Name> };

export const defaultPolicies = Object.fromEntries(
  Object.entries(policies).map(([name, policy]) => [name, policy.default]),
) as { readonly [Name in PolicyName]: Policies[Name]['default'] };

export const defaultOnExisting: OnExisting = 'fail';
