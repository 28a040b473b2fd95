import path from 'node:path';
import { z } from 'zod';
import { doneSchema, earlierSchema, keptSchema, parseLine } from '../batch-lines';
import { runFiles } from '../run-files';
import type { EarlierRow } from './earlier-row';
import { readRecords } from './read-run';
import { exists, type BatchRun } from './run-folders';

const options = z.object({ output: z.string(), input: z.string().exactOptional() });

const leftOutSchema = z.object({
  destination: z.string(),
  options,
  delivered: z.object({ ...doneSchema.shape, options }).exactOptional(),
  owed: z.object({ ...earlierSchema.shape, options, outcome: keptSchema.exactOptional() }).exactOptional(),
  startedAs: z.array(z.int().positive()),
}) satisfies z.ZodType<LeftOutRow>;

/** A row of earlier runs that is not in this run although something is open; kept for a later run that has it again. */
export type LeftOutRow = Omit<EarlierRow, 'status'> & { destination: string };

/** Undefined if the run was planned by a version that did not record these rows. */
export async function readLeftOut(
  run: BatchRun,
  signal?: AbortSignal,
): Promise<AsyncGenerator<LeftOutRow> | undefined> {
  const file = path.join(run.folder, runFiles.leftOut);
  if (!(await exists(file))) return undefined;
  const parse = (line: Buffer) => parseLine(leftOutSchema, line);
  return readRecords(file, { run, parse, mayBeTorn: false, signal });
}
