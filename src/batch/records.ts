import { z } from 'zod';
import type { BatchItem, BatchItemResult } from '../shared/batch';

/** The lines of a run's files, as they are read back. */

const rowNumber = z.int().positive();
const fileUri = z.string().regex(/^file:/, 'must be a file: URI');

const source = z.object({
  bytes: z.int().nonnegative(),
  sha256: z.string(),
  stamp: z.string().exactOptional(),
});

const output = z.object({
  uri: z.string(),
  name: z.string(),
  bytes: z.int().nonnegative(),
  sha256: z.string(),
});

export const batchItem = z.object({
  item: rowNumber,
  source: fileUri,
  output: z.string().min(1),
  input: z.string().min(1).exactOptional(),
  destination: fileUri,
  onExisting: z.enum(['fail', 'skip', 'overwrite', 'rename']).exactOptional(),
  done: z.object({ source, output }).exactOptional(),
}) satisfies z.ZodType<BatchItem>;

export const batchItemResult = z.object({
  item: rowNumber,
  status: z.enum(['succeeded', 'failed', 'skipped', 'cancelled']),
  workflowId: z.string().exactOptional(),
  runId: z.string().exactOptional(),
  code: z.string().exactOptional(),
  message: z.string().exactOptional(),
  source: source.exactOptional(),
  output: output.exactOptional(),
  vcredits: z.number().exactOptional(),
  requests: z.number().exactOptional(),
  possiblyChargedTwice: z.boolean().exactOptional(),
  startedAt: z.number().exactOptional(),
  durationMs: z.number().exactOptional(),
}) satisfies z.ZodType<BatchItemResult>;

/** Reads one line. @throws Error that says what is wrong with it, in one sentence without a full stop. */
export function parseRecord<Record>(schema: z.ZodType<Record>, line: string): Record {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    throw new Error('it is not JSON', { cause: error });
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'the row'}: ${message}`);
  throw new Error(problems.join('; '), { cause: parsed.error });
}
