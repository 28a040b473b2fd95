import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { JsonlWriter, readLines } from '../lines';

const draftRow = z.object({
  /** From 1. */
  row: z.int().positive(),
  place: z.string(),
  /** Absolute paths. */
  source: z.string(),
  destination: z.string(),
  output: z.string(),
  input: z.string().exactOptional(),
  /** Of the source when first seen; absent if it cannot be read. */
  stamp: z.string().exactOptional(),
  bytes: z.number(),
  /** Something already exists at the destination. */
  exists: z.boolean(),
});

/** A row that was checked by itself but not yet compared with earlier runs. */
export type DraftRow = z.infer<typeof draftRow>;

/** The rows between the two passes of planning, on disk because their number is unlimited. */
export class DraftFile {
  private constructor(
    private readonly folder: string,
    private readonly writer: JsonlWriter,
  ) {}

  static async create(temporaryFolder: string): Promise<DraftFile> {
    const folder = await mkdtemp(path.join(temporaryFolder, 'fileconv-plan-'));
    try {
      return new DraftFile(folder, await JsonlWriter.create(path.join(folder, 'draft.jsonl')));
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  write(row: DraftRow): Promise<void> {
    return this.writer.write(row);
  }

  async *rows(signal?: AbortSignal): AsyncGenerator<DraftRow> {
    await this.writer.flush();
    const stream = createReadStream(path.join(this.folder, 'draft.jsonl'), { signal });
    for await (const { bytes } of readLines(stream)) yield draftRow.parse(JSON.parse(bytes.toString()));
  }

  async remove(): Promise<void> {
    await this.writer.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}
