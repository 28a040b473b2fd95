import { pathToFileURL } from 'node:url';
import type { RepetitionRules } from '../../shared/repetition';
import type { EarlierResults } from '../runs/earlier-results';
import type { DraftRow } from './draft-file';
import type { LeftOut } from './draft-rows';
import { look } from './look';
import { mapOrdered } from './map-ordered';
import { refuseRow, type AskPair } from './refuse-row';
import { repeatRow } from './repeat-row';
import type { SettledRow } from './plan-counts';

/** Sources are hashed at the same time as others are looked at. */
const comparisonsUnderWay = 8;

export interface Settling {
  rows: AsyncIterable<DraftRow>;
  earlier: EarlierResults;
  leftOut: LeftOut;
  rules: RepetitionRules;
  ask: AskPair | undefined;
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
async function settleRow(
  row: DraftRow,
  { earlier, rules, ask, secondLook, signal }: Settling,
): Promise<SettledRow | undefined> {
  const { source, output, input, stamp, bytes, exists } = row;
  const destination = pathToFileURL(row.destination).href;
  const known = earlier.find(destination);
  const repeated = known && (await repeatRow({ source, output, input, destination }, known, { rules, signal }));
  if (secondLook && stamp !== undefined && !repeated?.done && !repeated?.kept) {
    await secondLook();
    const now = await look(source);
    if (now.kind !== 'file' || now.stamp !== stamp) return undefined;
  }
  earlier.take(destination);
  const asked = { source: pathToFileURL(source).href, output, ...(input !== undefined && { input }), destination };
  const item = await refuseRow({ ...asked, ...repeated }, { ask, known, exists });
  return { item, bytes, exists };
}
