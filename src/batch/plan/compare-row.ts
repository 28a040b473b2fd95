import { fileURLToPath } from 'node:url';
import type { OutputFile, SourceContent } from '../../shared/job';
import { hashFile } from '../hash-file';
import type { DoneRecord } from '../runs/content-records';
import { look } from './look';

/** A row, as far as it matters to whether it was done. */
export interface ComparedRow {
  /** Absolute path. */
  source: string;
  output: string;
  input?: string | undefined;
}

/** `done`: nothing to do; `replace`: what is at the destination is a run's own result, and out of date. */
export type Comparison = { kind: 'done'; source: SourceContent; output: OutputFile } | { kind: 'replace' | 'new' };

/**
 * Compares a row to what an earlier run did at its destination.
 *
 * Done: asked for the same, the source has the same content, and the result is still there in its size. To be replaced: not that, but the
 * file at the destination is, byte for byte, the one that the run wrote there, so no person's work is lost.
 */
export async function compareRow(
  row: ComparedRow,
  { record, destination, signal }: { record: DoneRecord; destination: string; signal: AbortSignal | undefined },
): Promise<Comparison> {
  const result = await look(fileURLToPath(record.output.uri));
  if (result.kind !== 'file' || result.bytes !== record.output.bytes) return { kind: 'new' };
  if (record.hasOptions(row)) {
    const source = await sameContent(row.source, record, signal);
    if (source) return { kind: 'done', source, output: record.output };
  }
  return { kind: (await isOwnResult(record, destination, signal)) ? 'replace' : 'new' };
}

/** Whether the file at a destination is the very one that the run wrote there. */
export async function isOwnResult(
  { output }: DoneRecord,
  destination: string,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  // One that had to be renamed is beside somebody else's file.
  if (output.uri !== destination) return false;
  const file = fileURLToPath(destination);
  const found = await look(file);
  if (found.kind !== 'file' || found.bytes !== output.bytes) return false;
  return (await hashFile(file, signal))?.sha256 === output.sha256;
}

/** The source as it is now, when its content is that of the record. */
async function sameContent(
  file: string,
  record: DoneRecord,
  signal: AbortSignal | undefined,
): Promise<SourceContent | undefined> {
  const before = await look(file);
  if (before.kind !== 'file' || before.bytes !== record.source.bytes) return undefined;
  const { stamp } = before;
  if (record.hasStamp(stamp)) return { ...record.source, stamp };
  const content = await hashFile(file, signal);
  if (content?.sha256 !== record.source.sha256) return undefined;
  const after = await look(file);
  return after.kind === 'file' && after.stamp === stamp ? { ...record.source, stamp } : undefined;
}
