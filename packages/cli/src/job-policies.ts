import type { ConversionPolicies } from 'temporal-file-conversion/internal/shared/job';
import type { LoadedConfig } from './config';
import { snakeCase } from './config';

/** The policies that somebody set. The defaults are the workflow's own, so that a job's input shows only what is special about it. */
export function chosenPolicies(
  { values, origins }: LoadedConfig,
  flags: Partial<ConversionPolicies>,
): ConversionPolicies {
  const chosen = Object.entries(values.policies).filter(([name]) => {
    // Not a policy of the workflow but a part of the job itself.
    return name !== 'onExisting' && origins[`policies.${snakeCase(name)}`] !== undefined;
  });
  return { ...Object.fromEntries(chosen), ...flags };
}
