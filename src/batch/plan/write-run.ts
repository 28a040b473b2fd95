import { rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { BatchItem } from '../../shared/batch';
import { syncFolder } from '../../storage/folders';
import { JsonlWriter } from '../jsonl-writer';
import { runFiles } from '../run-files';
import type { LeftOutRow } from '../runs/left-out';
import { createRunFolder, type BatchRun } from '../runs/run-folders';
import { PlanCounts, type SettledRow } from './plan-counts';

/**
 * Counts the rows of a plan, and writes them down as a new run of the batch when there is anything to do.
 *
 * @param options.canRun asked for the last time when all rows have come.
 * @param options.leftOut asked then: what earlier runs left open and these rows don't take up.
 */
export async function writeRun(
  rows: AsyncIterable<SettledRow>,
  { batchFolder, canRun, leftOut }: { batchFolder: string; canRun: () => boolean; leftOut: () => Iterable<LeftOutRow> },
): Promise<{ run?: BatchRun; counts: PlanCounts }> {
  const counts = new PlanCounts();
  let manifest: RunManifest | undefined;
  let run: BatchRun | undefined;
  try {
    for await (const row of rows) {
      counts.add(row);
      // Whatever is wrong with the rows is known before the first of them comes.
      if (canRun()) manifest ??= await RunManifest.create(batchFolder);
      await manifest?.write({ item: counts.rows, ...row.item });
    }
    if (manifest && counts.todo > 0 && canRun()) run = await manifest.commit(leftOut());
  } finally {
    if (!run) await manifest?.discard();
  }
  return { ...(run && { run }), counts };
}

const temporaryName = `.${runFiles.manifest}.part`;

/** The manifest of a new run: it is there as a whole, or not at all. */
class RunManifest {
  private constructor(
    readonly run: BatchRun,
    private readonly writer: JsonlWriter,
  ) {}

  /** Makes the folder of the next run. Without a manifest it is none yet. */
  static async create(batchFolder: string): Promise<RunManifest> {
    const run = await createRunFolder(batchFolder);
    return new RunManifest(run, await JsonlWriter.create(path.join(run.folder, temporaryName)));
  }

  write(item: BatchItem): Promise<void> {
    return this.writer.write(item);
  }

  /** Gives the finished file its name, in a way that survives a power cut. What the rows leave out is written first. */
  async commit(leftOut: Iterable<LeftOutRow>): Promise<BatchRun> {
    const { folder } = this.run;
    const others = await JsonlWriter.create(path.join(folder, runFiles.leftOut));
    for (const row of leftOut) await others.write(row);
    await others.sync();
    await others.close();
    await this.writer.sync();
    await this.writer.close();
    await rename(path.join(folder, temporaryName), path.join(folder, runFiles.manifest));
    await syncFolder(folder);
    await syncFolder(path.dirname(folder));
    return this.run;
  }

  /** Leaves nothing behind. */
  async discard(): Promise<void> {
    await this.writer.close();
    await rm(this.run.folder, { recursive: true, force: true });
  }
}
