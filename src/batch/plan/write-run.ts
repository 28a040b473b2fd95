import { rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { BatchItem } from '../../shared/batch';
import { syncFolder } from '../../storage/folders';
import { JsonlWriter } from '../lines';
import { runFiles } from '../run-files';
import type { LeftOutRow } from '../runs/read-run';
import { createRunFolder, type BatchRun } from '../runs/run-folders';
import { PlanCounts, type SettledRow } from './planned-batch';

/**
 * Counts the rows of a plan, and writes them as a new run of the batch if there is anything to do.
 * @param options.canRun called for each row and once more after the last.
 * @param options.leftOut called after the last row: what earlier runs left open and these rows do not take up.
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
      // Every problem is known before the first row arrives.
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

/** The manifest of a new run: it appears complete or not at all. */
class RunManifest {
  private constructor(
    readonly run: BatchRun,
    private readonly writer: JsonlWriter,
  ) {}

  /** Creates the folder of the next run, which only counts as a run once it has a manifest. */
  static async create(batchFolder: string): Promise<RunManifest> {
    const run = await createRunFolder(batchFolder);
    return new RunManifest(run, await JsonlWriter.create(path.join(run.folder, temporaryName)));
  }

  write(item: BatchItem): Promise<void> {
    return this.writer.write(item);
  }

  /** Gives the finished file its name so that it survives a power cut, after writing what the rows leave out. */
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

  async discard(): Promise<void> {
    await this.writer.close();
    await rm(this.run.folder, { recursive: true, force: true });
  }
}
