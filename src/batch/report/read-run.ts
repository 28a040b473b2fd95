import { open, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { BatchItem, BatchItemResult } from '../../shared/batch';
import { systemErrorCode } from '../../shared/system-error';
import { BatchReportError } from './errors';
import { shellWord } from './wording';

/** A row of the manifest, and how it ended if it has. */
export interface RunRow {
  readonly item: BatchItem;
  readonly result?: BatchItemResult;
}

interface Line {
  readonly file: string;
  readonly number: number;
  readonly text: string;
}

const content = z.object({ bytes: z.number(), sha256: z.string(), stamp: z.string().exactOptional() });
const outputFile = z.object({ uri: z.string(), name: z.string(), bytes: z.number(), sha256: z.string() });

const itemSchema: z.ZodType<BatchItem> = z.object({
  item: z.int().positive(),
  source: z.string(),
  output: z.string(),
  input: z.string().exactOptional(),
  destination: z.string(),
  onExisting: z.enum(['fail', 'skip', 'overwrite', 'rename']).exactOptional(),
  done: z.object({ source: content, output: outputFile }).exactOptional(),
});

const resultSchema: z.ZodType<BatchItemResult> = z.object({
  item: z.int().positive(),
  status: z.enum(['succeeded', 'failed', 'skipped', 'cancelled']),
  workflowId: z.string().exactOptional(),
  runId: z.string().exactOptional(),
  code: z.string().exactOptional(),
  message: z.string().exactOptional(),
  source: content.exactOptional(),
  output: outputFile.exactOptional(),
  vcredits: z.number().exactOptional(),
  requests: z.number().exactOptional(),
  possiblyChargedTwice: z.boolean().exactOptional(),
  startedAt: z.number().exactOptional(),
  durationMs: z.number().exactOptional(),
});

export interface OpenedRun {
  /**
   * Every row of the manifest with its result, in order, one at a time: memory does not grow with the batch. A row without a line of
   * results has not ended. Fails with a `BatchReportError` that names the line when one is damaged or out of order.
   */
  readonly rows: AsyncIterable<RunRow>;
  close(): Promise<void>;
}

/** Opens the files of a run's folder; a `BatchReportError` when one is missing. */
export async function openRun(folder: string, batch: string): Promise<OpenedRun> {
  const manifestFile = path.join(folder, 'manifest.jsonl');
  const resultsFile = path.join(folder, 'results.jsonl');
  const manifest = await openFile(manifestFile, {
    code: 'MANIFEST_MISSING',
    message: `Cannot report on batch ${batch}: there is no ${manifestFile}. Put the run's folder back, or run the batch again.`,
  });
  try {
    const results = await openFile(resultsFile, {
      code: 'RESULTS_MISSING',
      message: `Cannot report on batch ${batch}: there is no ${resultsFile} yet. It is written when the batch ends; \`fileconv batch watch ${shellWord(batch)}\` shows how far it is.`,
    });
    return {
      rows: pairRows(readLines(manifest, manifestFile), readLines(results, resultsFile)),
      // Closed here and not at the rows' end: nobody may ever ask for a row.
      async close() {
        await Promise.all([manifest.close(), results.close()]);
      },
    };
  } catch (error) {
    await manifest.close();
    throw error;
  }
}

async function* pairRows(items: AsyncGenerator<Line>, results: AsyncGenerator<Line>): AsyncGenerator<RunRow> {
  let pending = await nextResult(results, 0);
  let last = 0;
  for await (const line of items) {
    const item = parse(itemSchema, line);
    assertRising(item.item, last, line);
    last = item.item;
    if (pending !== undefined && pending.result.item < item.item) throw unknownItem(pending);
    if (pending?.result.item !== item.item) {
      yield { item };
      continue;
    }
    yield { item, result: pending.result };
    pending = await nextResult(results, item.item);
  }
  if (pending !== undefined) throw unknownItem(pending);
}

interface ReadResult {
  readonly line: Line;
  readonly result: BatchItemResult;
}

async function nextResult(lines: AsyncGenerator<Line>, last: number): Promise<ReadResult | undefined> {
  const next = await lines.next();
  if (next.done === true) return undefined;
  const result = parse(resultSchema, next.value);
  assertRising(result.item, last, next.value);
  return { line: next.value, result };
}

async function openFile(
  file: string,
  missing: { code: 'RESULTS_MISSING' | 'MANIFEST_MISSING'; message: string },
): Promise<FileHandle> {
  try {
    return await open(file);
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') throw new BatchReportError({ ...missing, cause: error });
    throw error;
  }
}

/** Lines without empty ones. Not `readline`: it also breaks at U+2028, which JSON leaves as it is within a string. */
async function* readLines(handle: FileHandle, file: string): AsyncGenerator<Line> {
  const stream = handle.createReadStream({ encoding: 'utf8', highWaterMark: 256 * 1024 });
  let rest = '';
  let number = 0;
  for await (const chunk of stream as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const text of lines) {
      number += 1;
      if (text.trim() !== '') yield { file, number, text };
    }
  }
  if (rest.trim() !== '') yield { file, number: number + 1, text: rest };
}

function parse<Value>(schema: z.ZodType<Value>, line: Line): Value {
  let json: unknown;
  try {
    json = JSON.parse(line.text);
  } catch (error) {
    throw unreadable(line, 'it is no JSON', error);
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw unreadable(line, `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not as expected'}`, parsed.error);
}

function assertRising(item: number, last: number, line: Line): void {
  if (item <= last) throw unreadable(line, `item ${item} comes after item ${last}`);
}

function unknownItem({ line, result }: ReadResult): BatchReportError {
  return unreadable(line, `the manifest has no item ${result.item}`);
}

function unreadable({ file, number }: Line, why: string, cause?: unknown): BatchReportError {
  return new BatchReportError({
    code: 'RUN_UNREADABLE',
    message: `Cannot read line ${number} of ${file}: ${why}. The file was changed or damaged after the batch wrote it; run the batch again to write it anew.`,
    cause,
  });
}
