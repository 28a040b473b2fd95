import { createReadStream } from 'node:fs';
import type { BatchItemResult } from '../shared/batch';
import type { WriteBatchPartInput } from '../shared/batch-activities';
import { systemErrorCode } from '../shared/system-error';
import { toPath } from '../storage/file-uri';
import { writeLocalFile } from '../storage/write';
import { parseBatchItemResult } from './batch-lines';
import { readLines } from './lines';
import { RunFileError, runFiles } from './run-files';

/** The writer's identity, as in `FileStore.writeDestination`. */
export interface Writing {
  jobKey: string;
  attempt: number;
  signal?: AbortSignal;
}

const newline = '\n';

/** Writes one part as a whole. Safe to repeat: replaces an existing part. */
export async function writeBatchPart({ folder, part, results }: WriteBatchPartInput, writing: Writing): Promise<void> {
  const lines = results.map((result) => JSON.stringify(result) + newline);
  await writeLocalFile({
    ...writing,
    uri: partUri(folder, part),
    body: toChunks([Buffer.from(lines.join(''))]),
    onExisting: 'overwrite',
  });
}

/** The results of one part by item. Throws a RunFileError that names the line. */
export async function readBatchPart(folder: string, part: number): Promise<Map<number, BatchItemResult>> {
  const filePath = toPath(partUri(folder, part));
  const results = new Map<number, BatchItemResult>();
  let line = 0;
  try {
    for await (const { number, bytes } of readLines(createReadStream(filePath))) {
      line = number;
      const result = parseBatchItemResult(bytes);
      results.set(result.item, result);
    }
  } catch (error) {
    const isMissing = systemErrorCode(error) === 'ENOENT';
    if (systemErrorCode(error) !== undefined && !isMissing) throw error;
    const why = isMissing ? 'it is gone' : `line ${line}: ${error instanceof Error ? error.message : String(error)}`;
    throw new RunFileError(
      'BATCH_PART_DAMAGED',
      `${filePath}: ${why}. The jobs are done; their results are in the Temporal UI. Run the batch again to go on with what is left.`,
      { cause: error },
    );
  }
  return results;
}

function partUri(folder: string, part: number): string {
  return new URL(`${runFiles.parts}/${String(part).padStart(6, '0')}.jsonl`, folder).href;
}

async function* toChunks(chunks: Iterable<Buffer>): AsyncGenerator<Buffer> {
  await Promise.resolve();
  yield* chunks;
}
