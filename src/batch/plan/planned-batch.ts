import { rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Refusal, BatchItem } from '../../shared/batch';
import { lastSegment } from '../../shared/job';
import { syncFolder } from '../../storage/folders';
import { JsonlWriter } from '../lines';
import { runFiles } from '../run-files';
import type { LeftOutRow } from '../runs/read-run';
import { type BatchRun, createRunFolder } from '../runs/run-folders';
import type { LeftOut } from './draft-rows';
import { type FindingList, Findings } from './findings';
import { extensionOf } from './settle-row';

export interface FormatCount {
  /** The given input format, or the source's extension in lower case; empty if there is neither. */
  input: string;
  /** Of the sources, in lower case. */
  extension: string;
  output: string;
  rows: number;
  bytes: number;
}

export interface RefusedCount extends Omit<FormatCount, 'bytes'> {
  /** Name of the first file. */
  first: string;
  refusal: Refusal;
}

export interface PlannedBatch {
  /** The new run; absent if there are problems or nothing to do, and for a dry run. */
  run?: BatchRun;
  /** Rows of the manifest: the sum of `done`, `kept`, `refused` and `todo`. */
  rows: number;
  /** Converted by an earlier run from the same content; the result still exists. */
  done: number;
  /** An earlier run may have been charged but brought no result: policy `fail` converts these only with `resubmit`. */
  kept: number;
  /** Rows that fail without being sent because the service does not convert them, most frequent first. */
  refused: RefusedCount[];
  todo: number;
  /** Total size of the sources to do. */
  bytes: number;
  /** Of the rows to do, most frequent first. */
  formats: FormatCount[];
  /** Rows to do that replace the result of an earlier run. */
  replaced: number;
  /** Rows to do whose destination holds something that no run of this batch wrote: the batch's `onExisting` decides. */
  existing: FindingList;
  leftOut: LeftOut;
  /** What prevents the batch from running; no run was written. */
  problems: FindingList;
  /** Files left out, and rows whose items will fail. */
  warnings: FindingList;
}

export interface SettledRow {
  item: Omit<BatchItem, 'item'>;
  /** Size of the source. */
  bytes: number;
  /** Something already exists at the destination. */
  exists: boolean;
}

class PlanCounts {
  rows = 0;
  todo = 0;
  /** Rows that an earlier run may have been charged for and that are not converted again. */
  kept = 0;
  /** Rows to do whose destination holds something that no run of this batch wrote. */
  readonly existing = new Findings();
  done = 0;
  bytes = 0;
  replaced = 0;
  readonly #refused = new Map<string, RefusedCount>();
  readonly #formats = new Map<string, FormatCount>();

  add({ item, bytes, exists }: SettledRow): void {
    this.rows += 1;
    if (item.done) {
      this.done += 1;
      return;
    }
    if (item.kept) {
      this.kept += 1;
      return;
    }
    const extension = extensionOf(item.source);
    const { input = extension, output, refused: refusal } = item;
    const key = `${extension} ${input} ${output}`;
    const kind = { input, extension, output, rows: 0 };
    if (refusal) {
      const refused = this.#refused.get(key) ?? { ...kind, first: lastSegment(item.source), refusal };
      refused.rows += 1;
      this.#refused.set(key, refused);
      return;
    }
    this.todo += 1;
    this.bytes += bytes;
    if (item.onExisting === 'overwrite') this.replaced += 1;
    else if (exists) this.existing.add('DESTINATION_EXISTS', `${fileURLToPath(item.destination)} exists already.`);
    const format = this.#formats.get(key) ?? { ...kind, bytes: 0 };
    format.rows += 1;
    format.bytes += bytes;
    this.#formats.set(key, format);
  }

  summary(): Pick<PlannedBatch, 'rows' | 'done' | 'kept' | 'refused' | 'todo' | 'bytes' | 'formats' | 'replaced'> {
    const { rows, done, kept, todo, bytes, replaced } = this;
    const refused = mostFrequentFirst(this.#refused);
    return { rows, done, kept, refused, todo, bytes, formats: mostFrequentFirst(this.#formats), replaced };
  }
}

function mostFrequentFirst<Count extends { rows: number }>(counts: ReadonlyMap<string, Count>): Count[] {
  return [...counts.values()].sort((one, other) => other.rows - one.rows);
}

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
