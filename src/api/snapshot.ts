import { convertOutputSchema, type Entity, type TaskResult } from '../contract/endpoints';
import type { TaskSnapshot } from './conversion-api';
import { readErrorObject } from './document-error';
import type { Quote } from './quote';
import { boundWarnings, maxWarnings } from '../shared/warnings';

/** The parts of a task response that a snapshot is made of; either may be missing. */
interface TaskParts {
  readonly entity?: Entity | null | undefined;
  readonly result?: TaskResult | null | undefined;
}

/** Where a conversion task stands (sections "Entity keys" and "Output of the convert-file task"). */
export function readSnapshot({ entity, result }: TaskParts, quote: Quote): TaskSnapshot {
  const parsed = convertOutputSchema.safeParse(result?.output ?? {});
  const output = parsed.success ? parsed.data : {};
  const error = readErrorObject(result?.error);
  // While a task runs its result is empty, so an output or an error means that it is over.
  const hasOutput = Object.keys(result?.output ?? {}).length > 0;
  // Section "Entity keys": the id of a task that produces a connector equals that connector.
  const taskId = entity?.id === '' ? undefined : entity?.id;
  const connector = output.connector ?? taskId;
  return {
    ...(taskId !== undefined && { taskId }),
    status: entity?.status ?? (hasOutput || error ? 'completed' : 'running'),
    ...(entity?.status === 'completed' && !hasOutput && !error && { isWithoutResult: true }),
    ...(connector !== undefined && { connector }),
    ...(output.status !== undefined && { outputStatus: output.status }),
    ...(error && { error: { code: quote(error.code), message: quote(error.message) } }),
    warnings: readWarnings(result?.warning, quote),
    ...(entity?.vcredits !== undefined && { vcredits: entity.vcredits }),
    ...(output.duration !== undefined && { durationSeconds: output.duration }),
  };
}

export function readWarnings(
  warning: Record<string, unknown> | null | undefined,
  quote: Quote,
): Record<string, string> {
  const entries = Object.entries(warning ?? {});
  const read = entries
    .slice(0, maxWarnings)
    .map(([name, advice]) => [quote(name), quote(typeof advice === 'string' ? advice : JSON.stringify(advice))]);
  return boundWarnings(Object.fromEntries(read) as Record<string, string>, entries.length - read.length);
}
