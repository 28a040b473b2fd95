import { z } from 'zod';
import type {
  BatchItem,
  ConversionOptions,
  Delivered,
  DoneBefore,
  KeptOutcome,
  Refusal,
  Fingerprint,
  Unresolved,
} from './model/types';
import type { BatchItemResult } from './model/state';
import { charges, type EarlierRuns } from '../job/charge';
import { jobPhases } from '../job/types';
import { onExistingChoices } from '../job/policies';
import { problemsOf } from '../messages/schema-problems';

/** File names in the folder of one run of a batch. */
export const runFiles = {
  /** The validated rows, one `BatchItem` per line. */
  manifest: 'manifest.jsonl',
  /** Results as they arrive: one `BatchItemResult` per line, in files `000001.jsonl` and so on. */
  parts: 'parts',
  /** The results of all rows in the manifest's order, once the run has ended. */
  results: 'results.jsonl',
} as const;

/** URI of a part; parts are numbered from 1. */
export function partUri(folder: string, part: number): string {
  return `${folder}${runFiles.parts}/${String(part).padStart(6, '0')}.jsonl`;
}

export const runFileErrorCodes = [
  'RUN_MISSING',
  /** There is nothing to retry. */
  'NO_EARLIER_RUN',
  /** A line of the run's files, or of the ledger, is not what a batch writes. */
  'RUN_DAMAGED',
  /** The run's files hold other counts than the batch. */
  'BATCH_COUNTS_DIFFER',
] as const;
type RunFileErrorCode = (typeof runFileErrorCodes)[number];

/** A file of a batch's run is missing or was changed; the message says which line of which file, and what to do. */
export class RunFileError extends Error {
  override readonly name = 'RunFileError';

  constructor(
    readonly code: RunFileErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Requires a schema for every field: without one, a field would be dropped when a line is read. */
type Fields<Line> = Record<keyof Line, z.ZodType>;

const sourceContent = z.object({ bytes: z.number(), sha256: z.string(), stamp: z.string().exactOptional() });
const outputFile = z.object({ uri: z.string(), name: z.string(), bytes: z.number(), sha256: z.string() });

const charge = z.enum(charges);
const marked = z.literal(true);

const earlierSchema = z.object({
  charge,
  taskId: z.string().exactOptional(),
  source: sourceContent.exactOptional(),
  vcredits: z.number().nonnegative().exactOptional(),
  delivered: marked.exactOptional(),
  suspect: marked.exactOptional(),
  runId: z.string().exactOptional(),
  possiblyChargedExtra: z.int().positive().exactOptional(),
} satisfies Fields<EarlierRuns>) satisfies z.ZodType<EarlierRuns>;

const doneSchema = z.object({
  source: sourceContent,
  output: outputFile,
  taskId: z.string().exactOptional(),
  possiblyChargedTwice: marked.exactOptional(),
  possiblyChargedExtra: z.int().positive().exactOptional(),
  warnings: z.record(z.string(), z.string()).exactOptional(),
  missing: marked.exactOptional(),
  existed: marked.exactOptional(),
} satisfies Fields<DoneBefore>) satisfies z.ZodType<DoneBefore>;

export const statusSchema = z.enum(['succeeded', 'failed', 'suspect', 'skipped', 'cancelled']);

const outcome = {
  status: statusSchema,
  workflowId: z.string().exactOptional(),
  runId: z.string().exactOptional(),
  code: z.string().exactOptional(),
  message: z.string().exactOptional(),
  phase: z.enum(jobPhases).exactOptional(),
  taskId: z.string().exactOptional(),
  charge: charge.exactOptional(),
  warnings: z.record(z.string(), z.string()).exactOptional(),
  source: sourceContent.exactOptional(),
  output: outputFile.exactOptional(),
  vcredits: z.number().exactOptional(),
  requests: z.number().exactOptional(),
  possiblyChargedTwice: z.boolean().exactOptional(),
  possiblyChargedExtra: z.int().positive().exactOptional(),
  missing: marked.exactOptional(),
  startedAt: z.number().exactOptional(),
  durationMs: z.number().exactOptional(),
};

const keptSchema = z.object({
  ...outcome,
  status: z.enum(['failed', 'suspect']),
}) satisfies z.ZodType<KeptOutcome>;
const resultSchema = z.object({
  item: z.int().positive(),
  ...outcome,
  kept: marked.exactOptional(),
} satisfies Fields<BatchItemResult>) satisfies z.ZodType<BatchItemResult>;

/** Checks types only, because the values were checked when the run was planned. */
const parametersSchema = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));

export const optionsSchema = z.object({
  output: z.string(),
  input: z.string().exactOptional(),
  extension: z.string().exactOptional(),
  parameters: parametersSchema.exactOptional(),
} satisfies Fields<ConversionOptions>) satisfies z.ZodType<ConversionOptions>;

export const deliveredSchema = z.object({
  ...doneSchema.shape,
  options: optionsSchema,
} satisfies Fields<Delivered>) satisfies z.ZodType<Delivered>;

export const unresolvedSchema = z.object({
  ...earlierSchema.shape,
  options: optionsSchema,
  outcome: keptSchema.exactOptional(),
} satisfies Fields<Unresolved>) satisfies z.ZodType<Unresolved>;

export const refusedSchema = z.object({
  code: z.string(),
  message: z.string(),
  isSkipped: marked.exactOptional(),
  isUnclear: marked.exactOptional(),
} satisfies Fields<Refusal>) satisfies z.ZodType<Refusal>;

export const seenSchema = z.object({
  stamp: z.string(),
  source: sourceContent.exactOptional(),
  times: z.int().positive().exactOptional(),
} satisfies Fields<Fingerprint>) satisfies z.ZodType<Fingerprint>;

const itemSchema = z.object({
  item: z.int().positive(),
  source: z.string(),
  ...optionsSchema.shape,
  destination: z.string(),
  onExisting: z.enum(onExistingChoices).exactOptional(),
  replaces: sourceContent.exactOptional(),
  sourceGroup: z.int().positive().exactOptional(),
  earlier: earlierSchema.exactOptional(),
  kept: keptSchema.exactOptional(),
  refused: refusedSchema.exactOptional(),
  stamp: z.string().exactOptional(),
  seen: seenSchema.exactOptional(),
  done: doneSchema.exactOptional(),
  before: deliveredSchema.exactOptional(),
  unresolved: unresolvedSchema.exactOptional(),
} satisfies Fields<BatchItem>) satisfies z.ZodType<BatchItem>;

/** A line of `manifest.jsonl`. @throws an error that says what is wrong with the line. */
export const parseBatchItem = parserOf<BatchItem>(itemSchema);

/** The result of an item: a line of the part files and of `results.jsonl`. @throws as `parseBatchItem`. */
export const parseBatchItemResult = parserOf<BatchItemResult>(resultSchema);

export function parserOf<Output>(schema: z.ZodType<Output>): (line: Buffer) => Output {
  return (line) => {
    let json: unknown;
    try {
      json = JSON.parse(line.toString());
    } catch (error) {
      throw new Error('it is not JSON', { cause: error });
    }
    const parsed = schema.safeParse(json);
    if (parsed.success) return parsed.data;
    throw new Error(problemsOf(parsed.error));
  };
}
