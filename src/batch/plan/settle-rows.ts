import { pathToFileURL } from 'node:url';
import type { BatchItem } from '../../shared/batch';
import type { EarlierResults } from '../runs/earlier-results';
import { compareRow } from './compare-row';
import type { DraftRow } from './draft-file';
import type { LeftOut } from './draft-rows';
import { look } from './look';
import { mapOrdered } from './map-ordered';
import type { SettledRow } from './write-run';

/** Sources are hashed at the same time as others are looked at. */
const comparisonsUnderWay = 8;

export interface Settling {
  rows: AsyncIterable<DraftRow>;
  earlier: EarlierResults;
  leftOut: LeftOut;
  /** Resolves when sources may be looked at a second time; absent: once is enough. */
  secondLook: (() => Promise<void>) | undefined;
  signal: AbortSignal | undefined;
}

/** The second pass: each row is compared to what earlier runs did, and of those to do only the ones go on that nobody is writing to. */
export async function* settleRows(settling: Settling): AsyncGenerator<SettledRow> {
  const { rows, leftOut, signal } = settling;
  const settle = (row: DraftRow) => settleRow(row, settling);
  for await (const settled of mapOrdered(rows, { concurrency: comparisonsUnderWay, signal }, settle)) {
    if (settled) yield settled;
    else leftOut.unsettled += 1;
  }
}

/** Undefined when the source has changed since it was drafted. */
async function settleRow(row: DraftRow, { earlier, secondLook, signal }: Settling): Promise<SettledRow | undefined> {
  const { source, destination, output, input, stamp, bytes, exists } = row;
  const item: Omit<BatchItem, 'item'> = {
    source: pathToFileURL(source).href,
    output,
    ...(input !== undefined && { input }),
    destination: pathToFileURL(destination).href,
  };
  const record = earlier.find(item.destination);
  const comparison = record && (await compareRow(row, { record, destination: item.destination, signal }));
  if (comparison?.kind === 'done') {
    const { source: content, output: file } = comparison;
    return { item: { ...item, done: { source: content, output: file } }, bytes, exists };
  }
  if (secondLook && stamp !== undefined) {
    await secondLook();
    const now = await look(source);
    if (now.kind !== 'file' || now.stamp !== stamp) return undefined;
  }
  return { item: { ...item, ...(comparison?.kind === 'replace' && { onExisting: 'overwrite' }) }, bytes, exists };
}
