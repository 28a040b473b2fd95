import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { planBatch, type PlanBatchOptions } from '../../../src/batch/plan/plan-batch';
import type { PlannedBatch } from '../../../src/batch/plan/planned-batch';
import { runFiles } from '../../../src/batch/run-files';
import type { BatchItem } from '../../../src/batch/model/types';
import type { BatchItemResult } from '../../../src/batch/model/state';
import { createLocalFiles } from '../../../src/storage/local-files';
import { fileStamp } from '../../../src/storage/source';
import { sha256 } from '../../storage/folder';
import { folderUri, readJsonl } from '../folder';

export { sha256 };

/** Plans in a folder with sources in `in`, results in `out`, and the batch's runs in `.batch`. */
export function plan(cwd: string, { out = folderUri(cwd, 'out'), ...options }: PlanChange = {}): Promise<PlannedBatch> {
  return planBatch({
    what: { sources: ['in'], recursive: true, to: 'pdf' },
    files: createLocalFiles(),
    folder: folderUri(cwd, '.batch'),
    cwd: folderUri(cwd),
    ...(out !== null && { out }),
    ...options,
  });
}

/** `out: null` leaves `out` away. */
type PlanChange = Partial<Omit<PlanBatchOptions, 'out'>> & { out?: string | null };

/** Plans the rows of the last run again. */
export function retry(cwd: string, options: Partial<PlanBatchOptions> = {}): Promise<PlannedBatch> {
  const folder = folderUri(cwd, '.batch');
  return planBatch({ files: createLocalFiles(), what: 'last', folder, cwd: folderUri(cwd), ...options });
}

/** Plans the rows of a manifest in the folder. */
export const planManifest = (cwd: string, name: string, options: PlanChange = {}): Promise<PlannedBatch> =>
  plan(cwd, {
    what: { manifest: pathToFileURL(path.join(cwd, name)).href, name, folder: folderUri(cwd) },
    ...options,
  });

export const messagesOf = (list: PlannedBatch['problems']): string[] => list.listed.map(({ message }) => message);

export const readItems = async (cwd: string, run = 1): Promise<BatchItem[]> =>
  (await readJsonl(path.join(runFolder(cwd, run), runFiles.manifest))) as BatchItem[];

export const listRuns = async (cwd: string): Promise<string[]> =>
  (await readdir(path.join(cwd, '.batch')).catch(() => [])).filter((name) => name.startsWith('run-'));

export function runFolder(cwd: string, run: number): string {
  return path.join(cwd, '.batch', `run-${String(run).padStart(4, '0')}`);
}

/** Does the work of the workflow: writes the results of a run's rows. The content of a result contains that of its source. */
export async function convertAll(
  cwd: string,
  { run = 1, fail = [] }: { run?: number; fail?: readonly string[] } = {},
): Promise<BatchItemResult[]> {
  const results: BatchItemResult[] = [];
  for (const item of await readItems(cwd, run)) {
    const name = path.basename(fileURLToPath(item.source));
    if (item.done) results.push({ item: item.item, status: 'skipped' });
    else if (item.refused) results.push({ item: item.item, status: 'failed', code: item.refused.code });
    else if (fail.includes(name)) results.push({ item: item.item, status: 'failed', code: 'SOURCE_EMPTY' });
    else results.push(await convert(item));
  }
  return results;
}

export const writeResults = async (cwd: string, results: readonly BatchItemResult[], run = 1): Promise<void> =>
  await writeFile(path.join(runFolder(cwd, run), runFiles.results), results.map(lineOf).join(''));

/** Two results per part. */
export async function writeParts(cwd: string, results: readonly BatchItemResult[], run = 1): Promise<void> {
  const folder = path.join(runFolder(cwd, run), runFiles.parts);
  await mkdir(folder, { recursive: true });
  for (let index = 0; index * 2 < results.length; index += 1) {
    const lines = results.slice(index * 2, index * 2 + 2).map(lineOf);
    await writeFile(path.join(folder, `${String(index + 1).padStart(6, '0')}.jsonl`), lines.join(''));
  }
}

function lineOf(result: BatchItemResult): string {
  return `${JSON.stringify(result)}\n`;
}

async function convert({ item, source, destination, output }: BatchItem): Promise<BatchItemResult> {
  const content = await readFile(fileURLToPath(source));
  const stats = await stat(fileURLToPath(source), { bigint: true });
  const result = Buffer.concat([Buffer.from(`${output} of `), content]);
  const file = fileURLToPath(destination);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, result);
  return {
    item,
    status: 'succeeded',
    source: { bytes: content.length, sha256: sha256(content), stamp: fileStamp(stats) },
    output: { uri: destination, name: path.basename(file), bytes: result.length, sha256: sha256(result) },
  };
}
