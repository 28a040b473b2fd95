import type { ConversionPolicies, OnExisting } from './job';

/** What a job does when nobody says otherwise; written as a person would in `fileconv.toml`. */
export const defaultPolicies = {
  uploadDeadline: '24 hours',
  submitTimeout: '2 minutes',
  submitDeadline: '24 hours',
  conversionDeadline: '7 days',
  firstCheckAfter: '2 seconds',
  maxCheckInterval: '60 seconds',
  pollAfter: '60 seconds',
  unknownOutcomeWait: '10 minutes',
  downloadDeadline: '24 hours',
  creditsDeadline: '7 days',
  retryInitialInterval: '1 second',
  retryMaximumInterval: '60 seconds',
  onUnknownOutcome: 'resubmit',
  maxResubmissions: 3,
} satisfies Required<ConversionPolicies>;

export const defaultOnExisting: OnExisting = 'fail';
