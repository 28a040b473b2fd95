import type { BatchItem, Refusal } from '../../shared/batch';
import type { EarlierRow } from '../runs/earlier-row';

/** What is asked of a row before a job is started for it. */
export interface AskedPair {
  /** Of the source, in lower case; empty when it has none. */
  extension: string;
  /** Input format; absent: by the extension. */
  input?: string;
  output: string;
  /** Something is at the destination that no run of the batch put there. */
  exists: boolean;
}

/** Why the service would refuse the row; undefined when it would not, or when nobody knows. Asked for every row, so an answer has to be kept. */
export type AskPair = (pair: AskedPair) => Promise<Refusal | undefined>;

/**
 * The row, with the service's refusal where it is known beforehand: an upload would be lost on it. Rows that earlier runs may have left
 * something of, a job or a result at the service, are for a job to look into.
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

/** Of a URI, in lower case; empty when there is none. */
export function extensionOf(uri: string): string {
  return (/\.([^./]+)$/.exec(uri)?.[1] ?? '').toLowerCase();
}
