import { z } from 'zod';
import type { BatchItem, BatchItemResult } from '../shared/batch';

const sourceContent = z.object({ bytes: z.number(), sha256: z.string(), stamp: z.string().exactOptional() });
const outputFile = z.object({ uri: z.string(), name: z.string(), bytes: z.number(), sha256: z.string() });

const itemSchema = z.object({
  item: z.int().positive(),
  source: z.string(),
  output: z.string(),
  input: z.string().exactOptional(),
  destination: z.string(),
  onExisting: z.enum(['fail', 'skip', 'overwrite', 'rename']).exactOptional(),
  done: z.object({ source: sourceContent, output: outputFile }).exactOptional(),
}) satisfies z.ZodType<BatchItem>;

/** Only what a later run needs to know. */
const resultSchema = z.object({
  item: z.int().positive(),
  status: z.enum(['succeeded', 'failed', 'skipped', 'cancelled']),
  source: sourceContent.exactOptional(),
  output: outputFile.exactOptional(),
  vcredits: z.number().exactOptional(),
}) satisfies z.ZodType<Pick<BatchItemResult, 'item' | 'status' | 'source' | 'output' | 'vcredits'>>;

const wholeResultSchema = resultSchema.extend({
  workflowId: z.string().exactOptional(),
  runId: z.string().exactOptional(),
  code: z.string().exactOptional(),
  message: z.string().exactOptional(),
  vcredits: z.number().exactOptional(),
  requests: z.number().exactOptional(),
  possiblyChargedTwice: z.boolean().exactOptional(),
  startedAt: z.number().exactOptional(),
  durationMs: z.number().exactOptional(),
}) satisfies z.ZodType<BatchItemResult>;

export type EndedItem = z.infer<typeof resultSchema>;

/** A line of `manifest.jsonl`. @throws an error that says what the line is instead. */
export function parseBatchItem(line: Buffer): BatchItem {
  return parse(itemSchema, line);
}

/** How an item ended: a line of the part files and of `results.jsonl`. @throws an error that says what the line is instead. */
export function parseEndedItem(line: Buffer): EndedItem {
  return parse(resultSchema, line);
}

/** The same, with all that a line holds. @throws an error that says what the line is instead. */
export function parseBatchItemResult(line: Buffer): BatchItemResult {
  return parse(wholeResultSchema, line);
}

function parse<Output>(schema: z.ZodType<Output>, line: Buffer): Output {
  let json: unknown;
  try {
    json = JSON.parse(line.toString());
  } catch (error) {
    throw new Error('it is no JSON', { cause: error });
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new Error(parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '));
}
