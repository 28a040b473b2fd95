import type { ConversionOptions, DoneBefore, KeptOutcome } from './model/types';
import { decideRepetition, type EarlierRuns, type RepetitionRules, type SourceContent } from '../job/charge';
import { defined } from '../job/defined';
import { lastSegment, type OutputFile } from '../job/types';
import { markOf } from '../job/job-outcome';
import { optionsKey } from '../job/parameters';
import type { FileStore } from '../storage/file-store';
import { lookAtSource, sameContent } from './contents';
import { extensionOf } from './uris';

/** What the last job of a destination left, according to its history or the batch's ledger. */
export interface Left extends EarlierRuns {
  options: ConversionOptions;
  /** What was delivered. */
  output?: OutputFile | undefined;
  /** How it ended without a result. */
  outcome?: KeptOutcome | undefined;
}

export interface Asked extends ConversionOptions {
  /** Absent: the source is not a file, and its content counts as unchanged. */
  source?: string | undefined;
  /** Current stamp of the source: if the last job had the same, the file need not be read. */
  stamp?: string | undefined;
  /** The caller has just seen the result. */
  isResultSeen?: boolean | undefined;
}

/** `done`: `source` is the current content; `isMissing`: the result is not where it was delivered. */
export type Recalled =
  | { kind: 'done'; source: SourceContent | undefined; isMissing: boolean }
  | { kind: 'keep'; outcome: KeptOutcome }
  /** `isNewContent`: the source or the options have changed since. */
  | { kind: 'start'; earlier?: EarlierRuns; isNewContent?: true };

/** Compares a request with what the last job left, and decides. The only caller of `decideRepetition`. */
export async function recallLeft(
  asked: Asked,
  left: Left,
  { files, rules, signal }: { files: FileStore; rules: RepetitionRules; signal?: AbortSignal | undefined },
): Promise<Recalled> {
  const content = await contentAsLeft(asked, left, { files, signal });
  const { charge, delivered, suspect, taskId, source, possiblyChargedExtra, vcredits } = left;
  // If the task's content is unknown, it may have converted different content.
  const task = source || asked.source === undefined ? taskId : undefined;
  const decision = decideRepetition(defined({ charge, delivered, suspect, taskId: task }), {
    ...rules,
    isSameContent: content !== 'changed',
  });
  const changed = content === 'changed' && { isNewContent: true as const };
  switch (decision.kind) {
    case 'done':
      return {
        kind: 'done',
        source: content === 'unknown' ? source : (content as SourceContent),
        isMissing: left.output !== undefined && !asked.isResultSeen && !(await isThere(files, left.output)),
      };
    case 'keep':
      return { kind: 'keep', outcome: left.outcome ?? lostOutcome(left) };
    case 'fetch':
      return { kind: 'start', earlier: defined({ charge, taskId: task, source, possiblyChargedExtra, vcredits }) };
    case 'convert':
      // An open charge stays marked even for new content; an older mark is dropped with the old content.
      if (decision.isMarked)
        return {
          kind: 'start',
          earlier: defined({ charge: 'maybe' as const, source: changed ? undefined : source, possiblyChargedExtra }),
          ...changed,
        };
      if (possiblyChargedExtra === undefined || delivered || suspect || changed) return { kind: 'start', ...changed };
      return { kind: 'start', earlier: { charge: 'no', possiblyChargedExtra } };
  }
}

/** The source's content, if it equals the last job's. A missing source is `unknown`: nothing else can be converted. */
async function contentAsLeft(
  asked: Asked,
  { options, source }: Left,
  { files, signal }: { files: FileStore; signal?: AbortSignal | undefined },
): Promise<SourceContent | 'changed' | 'unknown'> {
  if (!hasOptions(asked, options)) return 'changed';
  if (source === undefined || asked.source === undefined) return 'unknown';
  if (asked.stamp !== undefined && asked.stamp !== '' && asked.stamp === source.stamp) return source;
  const same = await sameContent(files, asked.source, { content: source, signal });
  if (same) return same;
  return (await lookAtSource(files, asked.source)).kind === 'none' ? 'unknown' : 'changed';
}

/** Also compares the extensions of the sources, if these decide the input format and both are known. */
export function hasOptions(
  { source, ...asked }: ConversionOptions & { source?: string | undefined },
  { extension, ...options }: ConversionOptions,
): boolean {
  const isSameFormat = extension === undefined || source === undefined || extensionOf(source) === extension;
  return isSameFormat && optionsKey(asked) === optionsKey(options);
}

export async function isThere(files: FileStore, { uri, bytes }: OutputFile): Promise<boolean> {
  const found = await files.look(uri);
  return found.kind === 'file' && found.bytes === bytes;
}

/** The content of the file at the destination if it is, byte for byte, the one that was delivered there. */
export function contentAsDelivered(
  files: FileStore,
  { uri, bytes, sha256 }: OutputFile,
  signal?: AbortSignal,
): Promise<SourceContent | undefined> {
  return sameContent(files, uri, { content: { bytes, sha256 }, signal });
}

/** A suspect result that a person has accepted by renaming it to the destination. */
export async function namedByHand(
  uri: string,
  { status, source, output: beside, taskId, warnings }: KeptOutcome,
  { files, signal }: { files: FileStore; signal?: AbortSignal | undefined },
): Promise<DoneBefore | undefined> {
  if (status !== 'suspect' || !source || !beside) return undefined;
  const output = { ...beside, uri, name: lastSegment(uri) };
  const isNamed = await contentAsDelivered(files, output, signal);
  return isNamed && { source, output, ...defined({ taskId, warnings }) };
}

/** The outcome of a row that an earlier run planned to convert again but never started. */
function lostOutcome({ charge, source, possiblyChargedExtra }: EarlierRuns): KeptOutcome {
  return {
    status: 'failed',
    code: 'OUTCOME_UNKNOWN',
    message: 'An earlier run may have been charged for this conversion, and its result is not known.',
    charge,
    ...(source && { source }),
    ...markOf(possiblyChargedExtra),
  };
}
