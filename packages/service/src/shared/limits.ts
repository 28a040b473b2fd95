import { availableParallelism } from 'node:os';
import { z } from 'zod';

/** What one caller, one file or one conversion may take of the service and its machine. */
export interface ServiceLimits {
  /** Time limit of one conversion, without the time it waits for an engine. Default 120,000. */
  conversionTimeoutMs: number;
  /** Conversions at a time. Default: the number of processors, at most 4. */
  conversionConcurrency: number;
  /** Memory of one conversion, engine included: documents need 512 MiB at least. Default 2 GiB. */
  maxConversionMemoryBytes: number;
  /** Bytes of one uploaded file. Default 256 MiB, which is what the engines read at most. */
  maxUploadBytes: number;
  /** Bytes of a form without its file. Default 1 MiB. */
  maxDataBytes: number;
  /** Fields of a form. Default 20. */
  maxFormFields: number;
  /** How deeply the JSON of the field `data` may be nested. Default 32. */
  maxDataDepth: number;
  /** Time for the headers of a request to arrive. Default 20,000. */
  headersTimeoutMs: number;
  /** Time in which a body must end or bring another 64 KiB. Default 60,000. */
  bodyTimeoutMs: number;
  /** Bytes of all uploads and outputs together. Default 50 GiB. */
  maxStoredBytes: number;
  /** Bytes of the disk that uploads and outputs leave free. Default 256 MiB. */
  minFreeBytes: number;
  /** Time between two removals of expired files and old tasks. Default 300,000. */
  cleanupIntervalMs: number;
  /** How long a completed task can be asked for. Default 30 days. */
  taskRetentionMs: number;
}

const MiB = 1024 * 1024;
const longestTimer = 2 ** 31 - 1;

const limitsSchema = z.object({
  conversionTimeoutMs: whole({ byDefault: 120_000, most: longestTimer }),
  conversionConcurrency: whole({ byDefault: Math.min(4, availableParallelism()) }),
  maxConversionMemoryBytes: whole({ byDefault: 2048 * MiB, least: 128 * MiB }),
  maxUploadBytes: whole({ byDefault: 256 * MiB }),
  maxDataBytes: whole({ byDefault: MiB }),
  maxFormFields: whole({ byDefault: 20, most: 1_000 }),
  maxDataDepth: whole({ byDefault: 32, least: 3, most: 1_000 }),
  headersTimeoutMs: whole({ byDefault: 20_000, most: longestTimer }),
  bodyTimeoutMs: whole({ byDefault: 60_000, most: longestTimer }),
  maxStoredBytes: whole({ byDefault: 50 * 1024 * MiB }),
  minFreeBytes: whole({ byDefault: 256 * MiB, least: 0 }),
  cleanupIntervalMs: whole({ byDefault: 300_000, most: longestTimer }),
  taskRetentionMs: whole({ byDefault: 30 * 24 * 60 * 60 * 1000 }),
}) satisfies z.ZodType<ServiceLimits>;

/** The limits with their defaults; throws for the first that makes no sense. */
export function checkLimits(options: Partial<ServiceLimits>): ServiceLimits {
  const { data, error } = limitsSchema.safeParse(options);
  if (data) return data;
  const [issue] = error.issues;
  throw new Error(`${String(issue?.path[0])} ${issue?.message ?? 'is wrong.'}`);
}

function whole({ byDefault, least = 1, most = Number.MAX_SAFE_INTEGER }: WholeNumber) {
  return z
    .custom<number>((value) => Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most, {
      error: ({ input }) =>
        `must be a whole number ${Number(input) > most ? `of at most ${most}` : `of at least ${least}`}, not ${String(input)}.`,
    })
    .default(byDefault);
}

interface WholeNumber {
  byDefault: number;
  least?: number;
  most?: number;
}
