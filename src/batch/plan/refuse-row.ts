import type { BatchItem, Refusal } from '../../shared/batch';
import { lastSegment } from '../../shared/job';
import type { EarlierRow } from '../runs/earlier-row';

export interface AskedPair {
  /** Of the source, in lower case; empty if there is none. */
  extension: string;
  /** Input format; absent: decided by the extension. */
  input?: string;
  output: string;
  /** Something is at the destination that no run of the batch wrote. */
  exists: boolean;
}

/** Why the service would refuse the row; undefined if it would not or is unknown. Asked for every row: cache it. */
export type AskPair = (pair: AskedPair) => Promise<Refusal | undefined>;

/**
 * Adds the service's refusal to the row if it is known in advance, which saves the upload. Rows for which earlier runs
 * may have left a job or a result at the service are left to a job.
 */
export async function refuseRow<Row extends Omit<BatchItem, 'item'>>(
  row: Row,
  { ask, known, exists }: { ask: AskPair | undefined; known: EarlierRow | undefined; exists: boolean },
): Promise<Row> {
  const { source, output, input, onExisting, done, kept, earlier, startedAs } = row;
  const hasJob = startedAs !== undefined && known?.status !== 'failed';
  if (!ask || done || kept || earlier || hasJob) return row;
  const refused = await ask({
    extension: extensionOf(source),
    ...(input !== undefined && { input }),
    output,
    exists: exists && onExisting !== 'overwrite',
  });
  return refused ? { ...row, refused } : row;
}

/** The extension of a URI in lower case; empty if there is none. */
export function extensionOf(uri: string): string {
  return (/\.([^./]+)$/.exec(lastSegment(uri))?.[1] ?? '').toLowerCase();
}
