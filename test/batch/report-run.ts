import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { BatchReport } from '../../src/batch/report/report';
import { writeBatchReport } from '../../src/batch/report/write-report';
import type { BatchItem } from '../../src/batch/model/types';
import type { BatchItemResult, ConversionBatchResult } from '../../src/batch/model/state';
import { createLocalFiles } from '../../src/storage/local-files';
import { makeFolder } from '../storage/folder';

type WriteReportOptions = Parameters<typeof writeBatchReport>[1];

export interface MadeRun {
  folder: string;
  uri: string;
  state: ConversionBatchResult;
}

/** The outcome of a row of a made-up run; the other fields get defaults. */
export type Ending = Partial<BatchItemResult> & Pick<BatchItemResult, 'status'> & { item?: never };

export function failed(code: string, more: Partial<Ending> = {}): Ending {
  return { status: 'failed', code, message: code, ...more };
}

/** Writes the report of a made-up run. The batch is called `november` by default. */
export const reportOn = (run: MadeRun, options: Partial<WriteReportOptions> = {}): Promise<BatchReport> =>
  writeBatchReport(createLocalFiles(), { batch: 'november', folder: run.uri, state: run.state, ...options });

export function itemOf(item: number, fields: Partial<BatchItem> = {}): BatchItem {
  const name = `invoice-${String(item).padStart(5, '0')}`;
  return {
    item,
    source: `file:///data/in/2026/${name}.docx`,
    output: 'pdf',
    destination: `file:///data/out/${name}.pdf`,
    ...fields,
  };
}

export function resultOf(item: number, { status, ...fields }: Ending): BatchItemResult {
  const ran = status === 'succeeded' || status === 'failed';
  return {
    item,
    status,
    ...(ran && { workflowId: `november/${item}`, runId: `run-${item}`, requests: 4, durationMs: 2_000 }),
    ...(status === 'succeeded' && {
      source: { bytes: 1_000, sha256: 'a'.repeat(64) },
      output: {
        uri: `file:///data/out/invoice-${String(item).padStart(5, '0')}.pdf`,
        name: `invoice-${item}.pdf`,
        bytes: 2_000,
        sha256: 'b'.repeat(64),
      },
      vcredits: 1,
    }),
    ...fields,
  };
}

/** The folder of a made-up run in which row `n` ended as `endings[n - 1]`. */
export async function makeRun(
  endings: readonly Ending[],
  {
    items = {},
    status = 'completed',
  }: { items?: Record<number, Partial<BatchItem>>; status?: ConversionBatchResult['status'] } = {},
): Promise<MadeRun> {
  const results = endings.map((ending, index) => resultOf(index + 1, ending));
  const manifest = endings.map((_, index) => itemOf(index + 1, items[index + 1]));
  const folder = await writeRun(manifest, results);
  return { folder, uri: `${pathToFileURL(folder).href}/`, state: stateOf(manifest.length, results, status) };
}

export async function writeRun(manifest: readonly object[], results: readonly object[]): Promise<string> {
  const folder = await makeFolder();
  const lines = (rows: readonly object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  await writeFile(path.join(folder, 'manifest.jsonl'), lines(manifest));
  await writeFile(path.join(folder, 'results.jsonl'), lines(results));
  return folder;
}

function stateOf(
  items: number,
  results: readonly BatchItemResult[],
  status: ConversionBatchResult['status'],
): ConversionBatchResult {
  const count = (wanted: BatchItemResult['status']) => results.filter((result) => result.status === wanted).length;
  return {
    status,
    items,
    succeeded: count('succeeded'),
    failed: count('failed'),
    skipped: count('skipped'),
    cancelled: count('cancelled'),
    inFlight: 0,
    waiting: items - results.length,
    window: 50,
    startedAt: Date.UTC(2026, 10, 20, 18, 30),
    durationMs: 3 * 3_600_000 + 12 * 60_000,
    vcredits: 0,
    requests: 0,
    possiblyChargedTwice: 0,
    kept: 0,
    failures: {},
    results: '',
  };
}
