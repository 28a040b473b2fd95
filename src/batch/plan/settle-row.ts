import type {
  BatchItem,
  ConversionOptions,
  Delivered,
  DoneBefore,
  KeptOutcome,
  Refusal,
  Fingerprint,
  Unresolved,
} from '../model/types';
import type { EarlierRuns, RepetitionRules } from '../../job/charge';
import { defined } from '../../job/defined';
import { lastSegment, placeOf, type SourceContent } from '../../job/types';
import type { OnExisting, Unconvertible } from '../../job/policies';
import { capitalised, closestName, noConverter } from '../../messages/wording';
import type { FileStore } from '../../storage/file-store';
import { hashFile, hashSource, lookAtSource, sameContent } from '../contents';
import { refusalsBelieved, type LedgerRow } from '../ledger';
import { contentAsDelivered, hasOptions, isThere, namedByHand, recallLeft, type Recalled } from '../recall';
import { extensionOf } from '../uris';

export type RepeatedRow = ConversionOptions &
  Pick<BatchItem, 'source' | 'destination'> & {
    /** Current stamp of the source. */
    stamp?: string | undefined;
    /** Current size of the file at the destination. */
    resultBytes?: number | undefined;
  };

export interface Repeating {
  files: FileStore;
  rules: RepetitionRules;
  /** See `PlanBatchOptions`. */
  hasLaterJob?: HasLaterJob | undefined;
  signal: AbortSignal | undefined;
}

/** Whether a later job has run at the destination since the one that ended like this. */
export type HasLaterJob = (ended: Pick<KeptOutcome, 'workflowId' | 'runId'>) => Promise<boolean>;

/** What a new run must know about a row from earlier runs. */
export type RepeatedItem = Pick<BatchItem, 'done' | 'kept' | 'earlier' | 'replaces' | 'before' | 'unresolved'>;

/**
 * Compares a row with what earlier runs did at its destination: see docs/repetition.md. A result is replaced only if it is, byte for
 * byte, what a run wrote there, so that no user's work is lost.
 */
export async function repeatRow(row: RepeatedRow, known: LedgerRow, repeating: Repeating): Promise<RepeatedItem> {
  const { delivered, unresolved } = known;
  // A renamed result lies beside a file that no run wrote, which must stay.
  const isInPlace = delivered && placeOf(delivered.output.uri) === placeOf(row.destination);
  if (delivered) {
    const left = { charge: 'yes', delivered: true, ...delivered } as const;
    const isResultSeen = isInPlace && delivered.output.bytes === row.resultBytes;
    const recalled = await recallLeft({ ...row, isResultSeen }, left, repeating);
    if (recalled.kind === 'done') return { done: doneBefore(delivered, recalled), ...defined({ unresolved }) };
  }
  const recalled = unresolved && (await recallLeft(row, unresolved, repeating));
  if (recalled?.kind === 'keep') {
    const done = await namedByHand(row.destination, recalled.outcome, repeating);
    if (done) return { done };
    // The row then gets a job, which decides by what that one did.
    if (!(await repeating.hasLaterJob?.(recalled.outcome))) {
      return { kept: recalled.outcome, ...defined({ before: delivered }) };
    }
  }
  const replaces = isInPlace
    ? await contentAsDelivered(repeating.files, delivered.output, repeating.signal)
    : undefined;
  const earlier = recalled?.kind === 'start' ? recalled.earlier : earlierOf(unresolved);
  return defined({
    before: delivered,
    earlier: earlier && { ...earlier, ...defined({ runId: unresolved?.outcome?.runId ?? unresolved?.runId }) },
    replaces,
    unresolved: recalled?.kind === 'start' && (recalled.isNewContent ?? repeating.rules.again) ? unresolved : undefined,
  });
}

function earlierOf(unresolved: Unresolved | undefined): EarlierRuns | undefined {
  if (!unresolved) return undefined;
  const { charge, taskId, source, suspect, possiblyChargedExtra } = unresolved;
  return defined({ charge, taskId, source, suspect, possiblyChargedExtra });
}

/** The row's result from the latest run; undefined if there is none. */
export async function outcomeOfLast(
  { source: uri, destination, options, status, delivered }: LedgerRow,
  { files, signal }: Omit<Repeating, 'rules'>,
): Promise<BatchItem['done']> {
  if (status !== 'succeeded' && status !== 'skipped') return undefined;
  if (delivered && hasOptions({ ...options, source: uri }, delivered.options)) {
    const { source, output, taskId, possiblyChargedTwice, possiblyChargedExtra, warnings } = delivered;
    const [now, isMissing] = [await asItIsNow(files, source, uri), !(await isThere(files, output))];
    const done = { source: now, output, taskId, possiblyChargedTwice, possiblyChargedExtra, warnings };
    return defined({ ...done, missing: isMissing || undefined });
  }
  // The row was skipped because something was at its destination: describe both files as they are now.
  const [source, output] = await Promise.all([hashSource(files, uri, signal), hashFile(files, destination, signal)]);
  if (!source || !output) return undefined;
  return { source, output: { uri: destination, name: lastSegment(destination), ...output }, existed: true };
}

/** Drops the stamp if it no longer matches the file. */
async function asItIsNow(
  files: FileStore,
  { bytes, sha256, stamp }: SourceContent,
  uri: string,
): Promise<SourceContent> {
  const now = await lookAtSource(files, uri);
  return defined({ bytes, sha256, stamp: now.kind === 'file' && now.stamp === stamp ? stamp : undefined });
}

function doneBefore(delivered: Delivered, { source, isMissing }: Extract<Recalled, { kind: 'done' }>): DoneBefore {
  const done: DoneBefore & Partial<Delivered> = { ...delivered, source: source ?? delivered.source };
  delete done.options;
  return { ...done, ...(isMissing && { missing: true }) };
}

export interface FormatPair {
  /** Extension of the source, in lower case; empty if there is none. */
  extension: string;
  /** Input format; absent: decided by the extension. */
  input?: string;
  output: string;
}

/**
 * Why the service would refuse the row; undefined if it would not, or if that is unknown. Called for every row, so `askingOf` caches
 * the answers. `exists`: the destination holds something that no run of the batch wrote.
 */
export type AskPair = (pair: FormatPair & { exists: boolean }) => Promise<Refusal | undefined>;

/** Questions to a service about formats. Undefined: the service does not say. */
export interface FormatQuestions {
  answerAboutPair(pair: {
    input: string;
    output: string;
  }): Promise<boolean | 'unknownInput' | 'unknownOutput' | undefined>;
  targets(): Promise<readonly string[] | undefined>;
}

/** Applies whatever input format is named. */
const nameless: Refusal = {
  code: 'NOT_VALID_EXTENSION',
  message:
    "The service takes a file's format from the extension of its name, and there is none. Rename it, for example to NAME.md.",
};

/** Asks a service once per pair. A service that does not say refuses nothing: the jobs find out. */
export function askingOf(service: FormatQuestions, onExisting: OnExisting | undefined): AskPair {
  const unknown = (code: string, format: string, names: readonly string[] = []): Refusal => {
    const closest = closestName(format, names);
    const hint = closest === undefined ? '' : ` Did you mean ${closest}?`;
    return { code, message: `The service knows no format ${format}.${hint} See: fileconv formats` };
  };
  const ask = oncePerPair(async ({ extension, input: named, output }): Promise<Refusal | undefined> => {
    if (extension === '') return nameless;
    const input = named ?? extension;
    switch (await service.answerAboutPair({ input, output })) {
      case false:
        return { code: 'NO_CONVERTER_INPUT_TO_OUTPUT', message: capitalised(noConverter(input, output)) };
      case 'unknownOutput':
        return unknown('INVALID_OUTPUT_FORMAT', output, await service.targets());
      case 'unknownInput':
        // The service may accept an extension that is not a format name, such as `jpg`.
        return named === undefined ? undefined : unknown('INVALID_INPUT_FORMAT', named);
      default:
        return undefined;
    }
  });
  // Rows that are skipped anyway need no answer.
  return (pair) => (pair.exists && onExisting === 'skip' ? Promise.resolve(undefined) : ask(pair));
}

function oncePerPair<Answer>(ask: (pair: FormatPair) => Promise<Answer>): (pair: FormatPair) => Promise<Answer> {
  const answers = new Map<string, Promise<Answer>>();
  return (pair) => {
    const key = JSON.stringify([pair.extension, pair.input, pair.output]);
    const answer = answers.get(key) ?? ask(pair);
    answers.set(key, answer);
    return answer;
  };
}

/** What to ask about a row. A result that a run of the batch wrote is no obstacle. */
export function questionOf({ source, input, output, replaces }: Omit<BatchItem, 'item'>, exists: boolean | 'folder') {
  return { ...defined({ extension: extensionOf(source), input, output }), exists: exists !== false && !replaces };
}

/** Applies the policy for unconvertible files: the row fails, or is skipped. */
export function asAsked({ code, message }: Refusal, unconvertible: Unconvertible | undefined): Refusal {
  return { code, message, ...(unconvertible === 'skip' && { isSkipped: true as const }) };
}

type StampedRow = RepeatedRow & { stamp: string };

/**
 * A refusal by earlier runs that still holds because the source has not changed. Undefined: there is none. Without `refused`: the
 * service has not refused often enough to be believed.
 */
export async function repeatRefusal(
  row: StampedRow,
  { known, files, signal }: { known: LedgerRow; files: FileStore; signal: AbortSignal | undefined },
): Promise<{ refused?: Refusal; seen: Fingerprint } | undefined> {
  const { seen, refused, options } = known;
  if (!seen || !refused || !hasOptions(row, options)) return undefined;
  const { source } = seen;
  const isSame =
    row.stamp === seen.stamp ||
    (source !== undefined && (await sameContent(files, row.source, { content: source, signal })) !== undefined);
  if (!isSame) return undefined;
  const fingerprint = { ...seen, stamp: row.stamp };
  return (seen.times ?? 1) < refusalsBelieved ? { seen: fingerprint } : { refused, seen: fingerprint };
}
