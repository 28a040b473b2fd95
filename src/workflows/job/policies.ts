import { ApplicationFailure } from '@temporalio/workflow';
import { failureCodes } from '../../job/activities';
import { charges } from '../../job/charge';
import type { ConversionJobInput, OnExisting } from '../../job/types';
import { durationMs, problemOfDuration } from '../../job/duration';
import { problemOfParameters } from '../../job/parameters';
import {
  conversionModes,
  onExistingChoices,
  defaultOnExisting,
  policies,
  type ConversionPolicies,
  type DurationPolicy,
} from '../../job/policies';

/** A job's policies with all defaults; durations in milliseconds, undefined when the worker uses a learned value. */
export type ResolvedPolicies = {
  [Name in DurationPolicy as `${Name}Ms`]: (typeof policies)[Name] extends { isLearned: true }
    ? number | undefined
    : number;
} & Required<Pick<ConversionPolicies, Exclude<keyof ConversionPolicies, DurationPolicy>>> & { onExisting: OnExisting };

/**
 * Checks a job's input and fills in the defaults. The client has already checked it, but a workflow that starts the job
 * as its child may not have, and a plain error would retry the workflow task forever.
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
  requireParameters(input.parameters);
  requireCharge(input.earlier);
  choice(input.mode ?? 'async', conversionModes, 'mode');
  const chosen: unknown = input.policies ?? {};
  if (!isRecord(chosen)) throw invalid('policies', 'must be an object');
  const resolved = Object.entries(policies).map(([name, policy]) => resolvePolicy(name, policy, chosen[name]));
  return {
    ...(Object.fromEntries(resolved) as Omit<ResolvedPolicies, 'onExisting'>),
    onExisting: choice(input.onExisting ?? defaultOnExisting, onExistingChoices, 'onExisting'),
  };
}

function resolvePolicy(
  name: string,
  policy: (typeof policies)[keyof typeof policies],
  chosen: unknown,
): [string, unknown] {
  const field = `policies.${name}`;
  const value = chosen ?? policy.default;
  switch (policy.kind) {
    case 'duration':
      return [`${name}Ms`, chosen === undefined && 'isLearned' in policy ? undefined : readDuration(value, field)];
    case 'count':
      if (!Number.isInteger(value) || (value as number) < 0 || (value as number) > policy.max)
        throw invalid(field, `must be a whole number from 0 to ${policy.max}`);
      return [name, value];
    case 'choice':
      return [name, choice(value, policy.choices, field)];
  }
}

function readDuration(value: unknown, field: string): number {
  const problem = problemOfDuration(value);
  if (problem !== undefined) throw invalid(field, problem);
  return durationMs(value);
}

/** Takes `unknown`: untyped callers can violate the type. */
function requireOneSource(source: unknown): void {
  const { uri, connector, name } = isRecord(source) ? source : {};
  if ((typeof uri === 'string') === (typeof connector === 'string')) {
    throw invalid('source', 'must be { uri } or { connector }');
  }
  if (name !== undefined) requireText(name, 'source.name');
}

function requireParameters(parameters: unknown): void {
  const problem = parameters === undefined ? undefined : problemOfParameters(parameters);
  if (problem !== undefined) throw invalid('parameters', problem);
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
