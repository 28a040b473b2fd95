import type { BatchItem, KeptOutcome, Refusal, Sighting } from '../../shared/batch';
import { type EarlierRuns, earlierOfNext, type RepetitionRules } from '../../shared/charge';
import { defined } from '../../shared/defined';
import { lastSegment } from '../../shared/job';
import { parametersKey } from '../../shared/parameters';
import type { Unconvertible } from '../../shared/policies';
import type { FileStore } from '../../storage/file-store';
import { hashFile, sameContent } from '../contents';
import type { ConversionOptions, Delivered, EarlierRow, Owed } from '../runs/earlier-results';

export type RepeatedRow = ConversionOptions & Pick<BatchItem, 'source' | 'destination'>;

export interface Repeating {
  files: FileStore;
  rules: RepetitionRules;
  signal: AbortSignal | undefined;
}

/** What a new run has to know about a row from earlier runs. */
export type RepeatedItem = Pick<BatchItem, 'done' | 'kept' | 'earlier' | 'startedAs' | 'onExisting'>;

/**
 * Compares a row with what earlier runs did at its destination.
 *
 * Done: the options and the source's content are the same, and the result still exists with its size. Replaced: not
 * done, but the file at the destination is, byte for byte, what a run wrote there, so that no user's work is lost.
 * `decideRepetition` decides about conversions that may have been charged without a result.
 */
export async function repeatRow(row: RepeatedRow, known: EarlierRow, repeating: Repeating): Promise<RepeatedItem> {
  const { delivered, owed, startedAs } = known;
  const standing = delivered && (await compareDelivered(row, delivered, repeating));
  if (standing?.done) return { done: standing.done };
  const earlier = owed ? await repeatOwed(row, owed, repeating) : standing?.earlier;
  if (earlier && 'kept' in earlier) return earlier;
  return defined({
    onExisting: standing?.isOwnResult ? ('overwrite' as const) : undefined,
    earlier,
    startedAs: startedAs.length > 0 ? [...startedAs] : undefined,
  });
}

async function isOwnResult({ output }: Delivered, destination: string, { files, signal }: Repeating): Promise<boolean> {
  // A result that had to be renamed is beside a file of other origin.
  if (output.uri !== destination) return false;
  const found = await files.look(destination);
  if (found.kind !== 'file' || found.bytes !== output.bytes) return false;
  return (await hashFile(files, destination, signal))?.sha256 === output.sha256;
}

/** `earlier`: the result is gone, but the service may still have it. It was delivered, so nothing is owed. */
async function compareDelivered(
  row: RepeatedRow,
  delivered: Delivered,
  repeating: Repeating,
): Promise<{ done?: BatchItem['done']; isOwnResult?: boolean; earlier?: EarlierRuns }> {
  const { files, rules, signal } = repeating;
  const { output, taskId, possiblyChargedTwice, warnings } = delivered;
  const result = await files.look(output.uri);
  const isThere = result.kind === 'file' && result.bytes === output.bytes;
  const source = hasOptions(row, delivered.options)
    ? await sameContent(files, row.source, { content: delivered.source, signal })
    : undefined;
  if (source && isThere) return { done: defined({ source, output, taskId, possiblyChargedTwice, warnings }) };
  if (isThere) return { isOwnResult: await isOwnResult(delivered, row.destination, repeating) };
  const left = defined({ source: delivered.source, taskId, possiblyChargedTwice });
  const lost = { charge: 'yes' as const, delivered: true as const, ...left };
  const earlier = earlierOfNext(lost, { rules, isSameContent: source !== undefined });
  return earlier && earlier !== 'keep' ? { earlier } : {};
}

async function repeatOwed(
  row: RepeatedRow,
  owed: Owed,
  { files, rules, signal }: Repeating,
): Promise<EarlierRuns | { kept: KeptOutcome } | undefined> {
  const { source } = owed;
  const isSameContent =
    hasOptions(row, owed.options) &&
    (source === undefined || (await sameContent(files, row.source, { content: source, signal })) !== undefined);
  const earlier = earlierOfNext(owed, { rules, isSameContent });
  return earlier === 'keep' ? { kept: owed.outcome ?? lostOutcome(owed) } : earlier;
}

/** For a row that was planned to be converted again, in a run that never started it. */
function lostOutcome({ charge, possiblyChargedTwice }: Owed): KeptOutcome {
  return defined({
    status: 'failed' as const,
    code: 'OUTCOME_UNKNOWN',
    message: 'An earlier run may have been charged for this conversion, and its result is not known.',
    charge,
    possiblyChargedTwice,
  });
}

function hasOptions(row: ConversionOptions, { output, input, parameters }: ConversionOptions): boolean {
  const isSameFormat = row.output === output && row.input === input;
  return isSameFormat && parametersKey(row.parameters) === parametersKey(parameters);
}

export interface FormatPair {
  /** Of the source, in lower case; empty if there is none. */
  extension: string;
  /** Input format; absent: decided by the extension. */
  input?: string;
  output: string;
}

/**
 * Why the service would refuse the row; undefined if it would not or is unknown. Asked for every row: `oncePerPair`.
 * `exists`: something is at the destination that no run of the batch wrote.
 */
export type AskPair = (pair: FormatPair & { exists: boolean }) => Promise<Refusal | undefined>;

/** Keeps the answer for each pair of formats. */
export function oncePerPair<Answer>(ask: (pair: FormatPair) => Promise<Answer>): (pair: FormatPair) => Promise<Answer> {
  const answers = new Map<string, Promise<Answer>>();
  return (pair) => {
    const key = JSON.stringify([pair.extension, pair.input, pair.output]);
    const answer = answers.get(key) ?? ask(pair);
    answers.set(key, answer);
    return answer;
  };
}

interface Refusing {
  ask: AskPair | undefined;
  known: EarlierRow | undefined;
  exists: boolean;
  unconvertible: Unconvertible | undefined;
}

/**
 * Adds the service's refusal to the row if it is known in advance, which saves the upload. Rows for which earlier runs
 * may have left a job or a result at the service are left to a job.
 */
export async function refuseRow(
  row: Omit<BatchItem, 'item'>,
  { ask, known, exists, unconvertible }: Refusing,
): Promise<Omit<BatchItem, 'item'>> {
  const { source, output, input, onExisting, done, kept, earlier, startedAs } = row;
  const hasJob = startedAs !== undefined && known?.status !== 'failed';
  if (!ask || done || kept || earlier || hasJob) return row;
  const format = defined({ extension: extensionOf(source), input, output });
  const refused = await ask({ ...format, exists: exists && onExisting !== 'overwrite' });
  return refused ? { ...row, refused: asAsked(refused, unconvertible) } : row;
}

/** A refusal as it is asked for: the row fails, or is left out. */
export function asAsked({ code, message }: Refusal, unconvertible: Unconvertible | undefined): Refusal {
  return { code, message, ...(unconvertible === 'skip' && { isSkipped: true as const }) };
}

/** What the service says that it converts such files to, in short; undefined if it does not say. Asked often: `oncePerPair`. */
export type AskAnswer = (pair: FormatPair) => Promise<string | undefined>;

/** With the stamp of its source, now. */
export type SightedRow = RepeatedRow & { stamp: string };

/** What a sweep sees of a row: a refusal holds until it sees something else. */
export async function sight({ source, output, input, stamp }: SightedRow, askAnswer: AskAnswer): Promise<Sighting> {
  const answer = await askAnswer(defined({ extension: extensionOf(source), input, output }));
  return defined({ stamp, answer });
}

/** A service that was short of something may refuse a file that it converts another day. */
const refusalsBelieved = 3;

/**
 * The refusals of earlier runs that still hold: neither the source nor what the service converts has changed. Undefined
 * if there is none; without `refused` if there were too few to be believed.
 */
export async function repeatRefusal(
  row: SightedRow,
  now: Sighting,
  { known, files, signal }: { known: EarlierRow; files: FileStore; signal: AbortSignal | undefined },
): Promise<{ refused?: Refusal; seen: Sighting } | undefined> {
  const { seen, refused, options } = known;
  if (!seen || !refused || !hasOptions(row, options)) return undefined;
  const { source, answer = now.answer } = seen;
  if (now.answer !== undefined && now.answer !== answer) return undefined;
  const isSame =
    now.stamp === seen.stamp ||
    (source !== undefined && (await sameContent(files, row.source, { content: source, signal })) !== undefined);
  if (!isSame) return undefined;
  const sighting = { ...seen, stamp: now.stamp };
  return (seen.times ?? 1) < refusalsBelieved ? { seen: sighting } : { refused, seen: sighting };
}

/** The extension of a URI in lower case; empty if there is none. */
export function extensionOf(uri: string): string {
  return (/\.([^./]+)$/.exec(lastSegment(uri))?.[1] ?? '').toLowerCase();
}
