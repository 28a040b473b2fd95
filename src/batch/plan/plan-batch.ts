import { type FileHandle, writeFile } from 'node:fs/promises';
import type { BatchItem, BatchPlan, BatchSources, Refusal } from '../model/types';
import { defined } from '../../job/defined';
import { lastSegment, placeOf, type OnUnknownOutcome } from '../../job/types';
import { extensionFromName } from '../../job/parameters';
import { defaultPolicies } from '../../job/policies';
import { leadsInto } from '../../storage/confine';
import type { FileStore } from '../../storage/file-store';
import { shownPath, toPath } from '../../storage/file-uri';
import { openScratchFile } from '../../storage/scratch-file';
import { type DestinationRules, defaultTemplate, parseTemplate } from '../destinations/resolve';
import { Ledger, type LedgerRow } from '../ledger';
import { inChunks, type Writing } from '../contents';
import { jsonLine, mapOrdered, readLines } from '../lines';
import { isMovedWithoutJob } from '../move-sources';
import { RunFileError } from '../run-files';
import { isLocal, isOfWeb, shownFolder } from '../uris';
import {
  candidatesOfLedger,
  candidatesOfManifest,
  candidatesOfSources,
  lookAt,
  toRow,
  warnOf,
  type Candidate,
  type DraftRow,
  type SeenCandidate,
} from './candidate';
import { type Conflict, Conflicts, explainConflict } from './conflicts';
import { Findings } from '../findings';
import { conclude, firstAttempt, type LeftOut, type SettledRow, type PlannedBatch, writeRun } from './planned-batch';
import {
  questionOf,
  outcomeOfLast,
  repeatRefusal,
  repeatRow,
  asAsked,
  type AskPair,
  type HasLaterJob,
  type RepeatedItem,
} from './settle-row';

/** What to convert, and how to plan it. */
export interface PlanBatchOptions extends Omit<BatchPlan, 'stdin'> {
  files: FileStore;
  /** Allows sources that match no files yet, or none that can be converted. Default: no. */
  mayBeEmpty?: boolean | undefined;
  /** What to do with conversions that an earlier run may have been charged for. Default: `resubmit`. */
  onUnknownOutcome?: OnUnknownOutcome | undefined;
  /** Converts every row again, even if an earlier run converted it. Default: no. */
  again?: boolean | undefined;
  /** Asks the service in advance what it would refuse. Default: does not ask. */
  ask?: AskPair | undefined;
  /** Does not resend a file that the service refused until the file changes. Default: resends it. */
  heedsRefusals?: boolean | undefined;
  /** Places of sources that were just moved back. They count as settled: some stores report the move as the modification. */
  restored?: ReadonlySet<string> | undefined;
  /** Makes no run just to try files once earlier runs were charged this many vCredits. Default: makes one. */
  maxVcredits?: number | undefined;
  /** Default: knows of none, so that kept rows stay kept. */
  hasLaterJob?: HasLaterJob | undefined;
  /** Writes no run. */
  dryRun?: boolean | undefined;
  /** Names the temporary files, so that a retry removes those of a lost attempt. Default: `firstAttempt`. */
  writing?: Writing | undefined;
  /** Standard input; read if a source or the manifest is `-`. */
  piped?: AsyncIterable<Buffer> | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Plans a batch and, if there are no problems, writes the manifest of a new run. An invalid or conflicting row becomes a failed
 * item and the others are converted; a plan without a good row has problems instead. Safe to repeat: earlier conversions are not
 * repeated. Writes only the new run's folder and, for earlier runs that did not end, the ledger.
 *
 * Uses a few hundred bytes of memory per row.
 *
 * @throws RunFileError if the results of an earlier run cannot be read, or if there is no last run; the signal's reason.
 */
export async function planBatch(options: PlanBatchOptions): Promise<PlannedBatch> {
  const { signal } = options;
  signal?.throwIfAborted();
  const draft = await openScratchFile();
  try {
    return await new BatchPlanning(options, draft).plan();
  } catch (error) {
    // An aborted stream fails with its own error; callers get the signal's reason.
    signal?.throwIfAborted();
    throw error;
  } finally {
    await draft.close();
  }
}

/** Concurrent lookups; enough to hide the latency of a network file system. */
const looksUnderWay = 32;
/** Allows hashing some sources while others are checked. */
const comparisonsUnderWay = 8;

class BatchPlanning {
  readonly #problems = new Findings();
  readonly #warnings = new Findings();
  readonly #unread = new Findings();
  readonly #leftOut = { repeated: 0, unmodified: 0, unsettled: 0, ownResults: 0 };
  readonly #conflicts = new Conflicts();
  /** Byte offset of each row in the draft, and the end of the last. */
  readonly #offsets = [0];
  #lastRun = 0;
  #spent = 0;

  constructor(
    private readonly options: PlanBatchOptions,
    /** Holds the rows between the two passes, because their number is unlimited. */
    private readonly draftFile: FileHandle,
  ) {}

  async plan(): Promise<PlannedBatch> {
    const { files, folder: batchFolder, dryRun, mayBeDone, mayBeEmpty, maxVcredits = Infinity, signal } = this.options;
    const writing = { ...(this.options.writing ?? firstAttempt), signal };
    const rules = await this.#settleRules();
    const rows = this.#rows(rules);
    const canRun = () => dryRun !== true && this.#problems.count === 0;
    const lastRun = () => this.#lastRun;
    const written = await writeRun(rows, {
      files,
      batchFolder,
      lastRun,
      canRun,
      canTry: () => this.#spent < maxVcredits,
      mayBeDone,
      mayBeAll: mayBeEmpty,
      writing,
    });
    this.#refuseNothing(written.rows);
    const found = { problems: this.#problems, warnings: this.#warnings, unread: this.#unread, leftOut: this.#leftOut };
    return { ...conclude(written, found), spent: this.#spent };
  }

  /** The rules for destinations; undefined if the options are invalid. */
  async #settleRules(): Promise<DestinationRules | undefined> {
    const { files, out, template: asked = defaultTemplate, what } = this.options;
    const extensionOf = (output: string) => this.options.extensions?.[output] ?? extensionFromName(output);
    const template = parseTemplate(asked);
    if (typeof template !== 'function') {
      this.#problems.add('TEMPLATE_INVALID', `The template ${asked} can't be used: ${template.problem}`);
      return undefined;
    }
    if (out !== undefined && isLocal(out) && ['file', 'other'].includes((await files.look(out.slice(0, -1))).kind)) {
      this.#problems.add('DESTINATION_INVALID', `${shownFolder(out)} is not a folder. Name a folder with --out.`);
      return undefined;
    }
    if (out !== undefined && isOfWeb(out)) {
      this.#problems.add('DESTINATION_INVALID', 'The web can only be read. Name a folder elsewhere with --out.');
      return undefined;
    }
    const isInOut = out !== undefined && isLocal(out) ? folderCheck(toPath(out)) : undefined;
    const manifestFolder = typeof what === 'object' && 'manifest' in what ? what.folder : undefined;
    return { out, template, extensionOf, manifestFolder, isInOut };
  }

  /** Both passes over all candidates. */
  async *#rows(rules: DestinationRules | undefined): AsyncGenerator<SettledRow> {
    if (!rules) return;
    const { files, what, folder: batchFolder, dryRun, moves, writing = firstAttempt, signal } = this.options;
    const ledger = await Ledger.open(files, batchFolder, { writing: dryRun ? undefined : writing, signal });
    this.#lastRun = ledger.run;
    this.#spent = ledger.vcredits;
    if (what === 'last' && ledger.run === 0) {
      const none = `${shownFolder(batchFolder)} holds no run of a batch. Start one first: fileconv batch run`;
      throw new RunFileError('NO_EARLIER_RUN', none);
    }
    await writeFile(this.draftFile, inChunks(this.#draft(rules, ledger)));
    const settle = (row: DraftRow) => this.#settleRow(row, ledger);
    const failedBefore = new Set(this.options.mayBeEmpty ? failedRows(ledger) : []);
    for await (const settled of mapOrdered(this.#drafted(), { concurrency: comparisonsUnderWay, signal }, settle)) {
      if (settled === 'repeated') {
        this.#leftOut.repeated += 1;
        continue;
      }
      const { item, ...rest } = settled;
      const sourceGroup = this.#conflicts.firstRowOf(item.source);
      const isKnown = failedBefore.has(rowKey(item));
      const isToMove = moves !== undefined && (await isMovedWithoutJob(item, moves));
      yield { item: { ...item, ...defined({ sourceGroup }) }, ...rest, isKnown, isToMove };
    }
  }

  /** The first pass: checks each candidate, resolves its destination and drafts the rows in order. */
  async *#draft(rules: DestinationRules, ledger: Ledger): AsyncGenerator<string> {
    const { files, signal } = this.options;
    const look = (candidate: Candidate) => lookAt(files, candidate, rules);
    for await (const seen of mapOrdered(this.#candidates(ledger), { concurrency: looksUnderWay, signal }, look)) {
      if (this.#isLeftOut(seen, ledger)) continue;
      const { candidate, source } = seen;
      const row = toRow(seen, this.#offsets.length);
      const identity = source.kind === 'file' ? source.identity : undefined;
      const isFound = candidate.how !== 'row';
      if (this.#conflicts.add(row, { identity, isFound }) && isFound) {
        this.#leftOut.repeated += 1;
        continue;
      }
      const line = jsonLine(row);
      this.#offsets.push((this.#offsets.at(-1) ?? 0) + Buffer.byteLength(line));
      yield line;
      warnOf(seen, this.#warnings);
    }
  }

  async *#drafted(): AsyncGenerator<DraftRow> {
    const { signal } = this.options;
    const drafted = this.draftFile.createReadStream({ start: 0, autoClose: false, signal });
    for await (const { bytes } of readLines(drafted)) {
      yield JSON.parse(bytes.toString()) as DraftRow;
    }
  }

  #isLeftOut({ candidate, source }: SeenCandidate, ledger: Ledger): boolean {
    const { what, settledForMs, restored } = this.options;
    // A retry leaves nothing out: it covers every failed row.
    if (what === 'last') return false;
    const isFound = candidate.how === 'found';
    if (isFound && source.kind === 'none' && !candidate.refusal) {
      const why = source.isUnseen ? source.reason : 'is gone since it was found';
      this.#unread.add('SOURCE_NOT_FOUND', `${candidate.shown} ${why}. It is left out.`);
      return true;
    }
    const changedSince = sourcesOf(what)?.modifiedSince;
    if (changedSince !== undefined && source.kind === 'none' && source.mayPass) {
      this.#unread.add('SOURCE_NOT_FOUND', `${candidate.shown} ${source.reason}. It is left out.`);
      return true;
    }
    if (source.kind !== 'file') return false;
    const { modifiedAt } = source;
    const isBack = restored?.has(placeOf(candidate.source)) === true;
    let reason: Exclude<keyof LeftOut, 'unread'> | undefined;
    if (changedSince !== undefined && modifiedAt < changedSince) reason = 'unmodified';
    else if (settledForMs !== undefined && Math.abs(Date.now() - modifiedAt) < settledForMs && !isBack)
      reason = 'unsettled';
    else if (isFound && ledger.find(candidate.source)?.delivered) reason = 'ownResults';
    if (reason) this.#leftOut[reason] += 1;
    return reason !== undefined;
  }

  /** How a row conflicts with another; `repeated` if it duplicates that row. */
  async #clashOf(row: DraftRow, conflict: Conflict): Promise<Refusal | 'repeated'> {
    const other = await this.#draftedRow(conflict.otherRow);
    if (conflict.kind === 'sameSource' && other.destination === row.destination) return 'repeated';
    return { ...explainConflict(conflict.kind, row, other), isUnclear: true };
  }

  /** Uses no stream: several on one file handle would end each other when one is left early. */
  async #draftedRow(row: number): Promise<DraftRow> {
    const [position = 0, end = 0] = this.#offsets.slice(row - 1, row + 1);
    const { buffer } = await this.draftFile.read({ buffer: Buffer.alloc(end - position), position });
    return JSON.parse(buffer.toString()) as DraftRow;
  }

  /** The second pass: compares a row with the others and with earlier runs. */
  async #settleRow(row: DraftRow, ledger: Ledger): Promise<SettledRow | 'repeated'> {
    const { files, what, again, hasLaterJob, moves, signal } = this.options;
    const { onUnknownOutcome = defaultPolicies.onUnknownOutcome } = this.options;
    const { source, output, input, parameters, destination, stamp, bytes, exists, resultBytes } = row;
    const asked = defined({ source, output, input, parameters, destination, stamp: moves && stamp });
    const bad = (refused: Refusal, repeated?: Partial<RepeatedItem & BatchItem>): SettledRow => ({
      ...{ item: { ...asked, ...repeated, refused }, bytes, exists },
      isBad: true,
    });
    // A source that has no URI is named as the user wrote it.
    if (row.refused?.isUnclear) return bad(row.refused, { source: source || row.shown });
    const conflict = this.#conflicts.of(row);
    const clash = conflict && (await this.#clashOf(row, conflict));
    if (clash === 'repeated') return clash;
    const rules = { onUnknownOutcome, again };
    const known = ledger.find(destination);
    const done = what === 'last' && known ? await outcomeOfLast(known, { files, signal }) : undefined;
    if (done && !(done.missing && again)) {
      const { delivered, unresolved } = known ?? {};
      const left = defined({ before: done.existed && delivered, unresolved });
      return { item: { ...asked, done, ...left }, bytes, exists };
    }
    const repeating = { files, rules, hasLaterJob, signal };
    const repeated = known && (await repeatRow({ ...asked, stamp, resultBytes }, known, repeating));
    // Not missing if the source is unchanged: a sweep was cut short before the move, and somebody took the result since.
    if (moves?.done && repeated?.done && known?.delivered?.source.stamp === stamp) delete repeated.done.missing;
    const resultOf = moves?.done && repeated?.replaces && known?.source !== source ? known?.source : undefined;
    if (resultOf !== undefined) return bad(takenBy(resultOf, row));
    // A row that was delivered before writes nothing, so its conflict is harmless.
    if (clash && !repeated?.done) return bad(clash);
    if (row.refused && !repeated?.done && !repeated?.kept && !repeated?.earlier) return bad(row.refused, repeated);
    const item = { ...asked, ...repeated };
    const isSent = this.#problems.count === 0 && !item.done && !item.kept && !item.earlier;
    return { item: isSent ? await this.#refuse(item, row, known) : item, bytes, exists };
  }

  /** Adds a refusal that is known in advance, which saves the upload: of earlier runs, or of the service. */
  async #refuse(
    item: SettledRow['item'],
    { stamp, exists }: DraftRow,
    known: LedgerRow | undefined,
  ): Promise<SettledRow['item']> {
    const { files, ask, heedsRefusals, unconvertible, signal } = this.options;
    const stamped = heedsRefusals && stamp !== undefined ? { ...item, stamp } : undefined;
    const before = stamped && known && (await repeatRefusal(stamped, { known, files, signal }));
    const refusal = before?.refused ?? (await ask?.(questionOf(item, exists)));
    const refused = refusal && asAsked(refusal, unconvertible);
    const seen = before?.seen ?? (stamped && { stamp: stamped.stamp });
    return { ...item, ...defined({ refused, seen: refused && !before?.refused ? undefined : seen }) };
  }

  async *#candidates(ledger: Ledger): AsyncGenerator<Candidate> {
    const { files, what, cwd, piped: stdin, out, moves, folder: batchFolder, signal } = this.options;
    const [problems, warnings, unread] = [this.#problems, this.#warnings, this.#unread];
    if (what === 'last') {
      yield* candidatesOfLedger(ledger);
      return;
    }
    if ('manifest' in what) {
      yield* candidatesOfManifest(what, { files, stdin, problems, warnings, signal });
      return;
    }
    const folders = [batchFolder, ...Object.values(defined({ out, done: moves?.done, failed: moves?.failed }))];
    const skippedFolders = new Set(folders);
    for (const folder of folders.filter(isLocal)) {
      const found = await files.look(folder);
      // The search may reach the folder under another name, through a link.
      if (found.kind === 'folder') skippedFolders.add(found.identity);
    }
    yield* candidatesOfSources(what, { files, cwd, stdin, skippedFolders, problems, warnings, unread, signal });
  }

  /** Sources that match nothing are most likely mistyped. */
  #refuseNothing(rows: number): void {
    const { what, mayBeEmpty } = this.options;
    const isEmpty = rows === 0 && Object.values(this.#leftOut).every((count) => count === 0);
    if (!isEmpty || mayBeEmpty === true || this.#problems.count > 0 || !sourcesOf(what)) return;
    this.#problems.add('NO_SOURCES', 'There are no files to convert. Check the names, and what --exclude leaves out.');
  }
}

/** Rows of one folder come together, so a small cache is enough. */
const foldersKept = 1_000;

function folderCheck(root: string): (folder: string) => Promise<boolean> {
  const answers = new Map<string, Promise<boolean>>();
  return (folder) => {
    const answer = answers.get(folder) ?? leadsInto([root], folder);
    if (answers.size >= foldersKept) answers.clear();
    answers.set(folder, answer);
    return answer;
  };
}

function sourcesOf(what: BatchPlan['what']): BatchSources | undefined {
  return typeof what === 'object' && 'sources' in what ? what : undefined;
}

/** The other source was moved away after its conversion, so its result stands in for a conflicting row. */
function takenBy(other: string, { shown, destination }: DraftRow): Refusal {
  const message = `${shown} would become ${shownPath(destination)}, which is the result of ${lastSegment(other)}. Give it another name, or make the schedule again with a --template such as {dir}/{name}.{from}.{ext}.`;
  return { code: 'DESTINATION_TAKEN', message, isUnclear: true };
}

function* failedRows(ledger: Ledger): Generator<string> {
  for (const row of ledger.rowsOfLastRun()) if (row.status === 'failed' || row.status === 'suspect') yield rowKey(row);
}

function rowKey({ source, destination }: Pick<BatchItem, 'source' | 'destination'>): string {
  return `${source}\0${destination}`;
}
