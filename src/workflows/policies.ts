import { ApplicationFailure } from '@temporalio/workflow';
import { msToNumber } from '@temporalio/common/lib/time';
import { failureCodes } from '../shared/activities';
import { charges } from '../shared/charge';
import { conversionModes, onExistingChoices, onUnknownOutcomeChoices } from '../shared/choices';
import { defaultOnExisting, defaultPolicies } from '../shared/default-policies';
import type { ConversionJobInput, ConversionPolicies, Duration, OnExisting, OnUnknownOutcome } from '../shared/job';

/** The policies of a job with every default filled in; durations in milliseconds. */
export interface ResolvedPolicies {
  uploadDeadlineMs: number;
  submitTimeoutMs: number;
  submitDeadlineMs: number;
  conversionDeadlineMs: number;
  /** Undefined: as the worker has learned. */
  firstCheckAfterMs: number | undefined;
  maxCheckIntervalMs: number;
  pollAfterMs: number;
  unknownOutcomeWaitMs: number;
  downloadDeadlineMs: number;
  creditsDeadlineMs: number;
  retryInitialIntervalMs: number;
  retryMaximumIntervalMs: number;
  onUnknownOutcome: OnUnknownOutcome;
  maxResubmissions: number;
  onExisting: OnExisting;
}

/**
 * Checks what a caller wrote and fills in the defaults.
 *
 * The client has checked it before; another workflow that starts the job as its child may not have, and a plain error here would
 * retry the workflow task for ever.
 *
 * @throws ApplicationFailure of type `INVALID_JOB` that names the field.
 */
export function resolvePolicies(input: ConversionJobInput): ResolvedPolicies {
  if (!isRecord(input)) throw invalid('its input', 'must be an object');
  requireText(input.app, 'app');
  requireText(input.output, 'output');
  requireOneSource(input.source);
  for (const field of ['input', 'destination'] as const) {
    if (input[field] !== undefined) requireText(input[field], field);
  }
  requireCharge(input.earlier);
  if (input.policies !== undefined && !isRecord(input.policies)) throw invalid('policies', 'must be an object');
  choice(input.mode ?? 'async', conversionModes, 'mode');
  const policies: ConversionPolicies = input.policies ?? {};
  const maxResubmissions = policies.maxResubmissions ?? defaultPolicies.maxResubmissions;
  if (!Number.isInteger(maxResubmissions) || maxResubmissions < 0) {
    throw invalid('policies.maxResubmissions', 'must be a whole number, 0 or more');
  }
  return {
    uploadDeadlineMs: durationMs(policies, 'uploadDeadline'),
    submitTimeoutMs: durationMs(policies, 'submitTimeout'),
    submitDeadlineMs: durationMs(policies, 'submitDeadline'),
    conversionDeadlineMs: durationMs(policies, 'conversionDeadline'),
    firstCheckAfterMs: policies.firstCheckAfter === undefined ? undefined : durationMs(policies, 'firstCheckAfter'),
    maxCheckIntervalMs: durationMs(policies, 'maxCheckInterval'),
    pollAfterMs: durationMs(policies, 'pollAfter'),
    unknownOutcomeWaitMs: durationMs(policies, 'unknownOutcomeWait'),
    downloadDeadlineMs: durationMs(policies, 'downloadDeadline'),
    creditsDeadlineMs: durationMs(policies, 'creditsDeadline'),
    retryInitialIntervalMs: durationMs(policies, 'retryInitialInterval'),
    retryMaximumIntervalMs: durationMs(policies, 'retryMaximumInterval'),
    onUnknownOutcome: choice(
      policies.onUnknownOutcome ?? defaultPolicies.onUnknownOutcome,
      onUnknownOutcomeChoices,
      'policies.onUnknownOutcome',
    ),
    maxResubmissions,
    onExisting: choice(input.onExisting ?? defaultOnExisting, onExistingChoices, 'onExisting'),
  };
}

type DurationKey = Exclude<keyof ConversionPolicies, 'onUnknownOutcome' | 'maxResubmissions'>;

function durationMs(policies: ConversionPolicies, key: DurationKey): number {
  const value: Duration = policies[key] ?? defaultPolicies[key];
  let milliseconds: number;
  try {
    milliseconds = msToNumber(value);
  } catch {
    milliseconds = Number.NaN;
  }
  if (!Number.isFinite(milliseconds) || milliseconds <= 0) {
    throw invalid(
      `policies.${key}`,
      `must be milliseconds above 0 or text such as '10 minutes', not ${JSON.stringify(value)}`,
    );
  }
  return milliseconds;
}

/** Takes `unknown`: the type promises more than an untyped caller keeps. */
function requireOneSource(source: unknown): void {
  const { uri, connector, name } = isRecord(source) ? source : {};
  if ((typeof uri === 'string') === (typeof connector === 'string')) {
    throw invalid('source', 'must be { uri } or { connector }');
  }
  if (name !== undefined) requireText(name, 'source.name');
}

function requireCharge(earlier: unknown): void {
  if (earlier === undefined) return;
  const { charge, taskId } = isRecord(earlier) ? earlier : {};
  choice(charge, charges, 'earlier.charge');
  if (taskId !== undefined) requireText(taskId, 'earlier.taskId');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function requireText(value: unknown, field: string): void {
  if (typeof value !== 'string' || value === '') throw invalid(field, 'is required');
}

function choice<T extends string>(value: unknown, choices: readonly T[], field: string): T {
  const chosen = choices.find((each) => each === value);
  if (chosen === undefined) throw invalid(field, `must be one of ${choices.join(', ')}`);
  return chosen;
}

function invalid(field: string, problem: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(`conversionJob: ${field} ${problem}`, failureCodes.invalidJob);
}
