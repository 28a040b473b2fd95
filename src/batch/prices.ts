import type { BatchItemResult, CostEstimate } from './model/state';
import type { FileStore } from '../storage/file-store';
import { ledgerFile } from './ledger';
import type { FormatCount } from './plan/planned-batch';
import { readRequest } from './request';
import { RunFileError } from './run-files';
import { type BatchRun, listRuns, readRows } from './run-folders';
import { extensionOf, folderOf } from './uris';

/** Limits that give enough data for a price and are read in seconds. */
const [mostBatches, mostRuns, mostRows] = [20, 3, 20_000];

interface Estimating {
  app: string;
  batchFolder: string;
  formats: readonly FormatCount[];
  /** The run to estimate, if it is already written; it is no basis for the prices. */
  run?: BatchRun | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Estimates the cost from the latest runs of this batch, and of batches of the same app that are kept beside it.
 * @returns undefined if none of the pairs was ever converted there.
 */
export async function estimateVcredits(
  files: FileStore,
  { app, batchFolder, formats, run: own, signal }: Estimating,
): Promise<CostEstimate | undefined> {
  const wanted = new Map(formats.map((pair) => [keyOf(pair), { cost: 0, count: 0 }]));
  let read = 0;
  for await (const batch of batchesBeside(files, batchFolder)) {
    try {
      const { request } = (await readRequest(files, batch)) ?? {};
      if (request && request.app !== app) continue;
      const runs = (await listRuns(files, batch)).filter(({ folder }) => folder !== own?.folder);
      for (const run of runs.slice(0, mostRuns)) {
        for await (const { item, result } of readRows(files, run, signal)) {
          if (++read > mostRows) break;
          const price = wanted.get(keyOf({ input: item.input ?? extensionOf(item.source), output: item.output }));
          if (!price || !isConverted(result) || result.vcredits === undefined) continue;
          price.cost += result.vcredits;
          price.count += 1;
        }
      }
    } catch (error) {
      // Damaged files of another batch are reported to whoever runs that batch.
      if (!(error instanceof RunFileError)) throw error;
    }
    if (read > mostRows) break;
  }
  const estimate = { vcredits: 0, from: 0, unknown: 0 };
  for (const pair of formats) {
    const { cost, count } = wanted.get(keyOf(pair)) ?? { cost: 0, count: 0 };
    const rows = pair.rows - (pair.paid ?? 0);
    if (count === 0) estimate.unknown += rows;
    else estimate.vcredits += (cost / count) * rows;
  }
  for (const { count } of wanted.values()) estimate.from += count;
  return estimate.from === 0 ? undefined : { ...estimate, vcredits: Math.round(estimate.vcredits) };
}

function isConverted(result: BatchItemResult | undefined): result is BatchItemResult {
  return result?.status === 'succeeded' || result?.status === 'suspect';
}

function keyOf({ input, output }: { input: string; output: string }): string {
  return `${input} ${output}`;
}

/** This batch first. */
async function* batchesBeside(files: FileStore, batchFolder: string): AsyncGenerator<string> {
  yield batchFolder;
  const home = folderOf(batchFolder);
  let others = 0;
  for await (const { uri } of files.walk(home, { maxDepth: 2, enters: (folder) => !folder.includes('/') })) {
    const folder = folderOf(uri);
    if (!uri.endsWith(`/${ledgerFile}`) || folder === batchFolder) continue;
    yield folder;
    others += 1;
    if (others === mostBatches) return;
  }
}
