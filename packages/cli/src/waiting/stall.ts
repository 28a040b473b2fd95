import {
  inspectJob,
  type NextStep,
  readBatchWaiting,
  type Waiting,
  type WaitReason,
} from 'temporal-file-conversion/client';
import { type BatchState, defined } from 'temporal-file-conversion/job';
import type { CommandContext } from '../command-context';
import type { Output } from '../output/output';
import { bothTimes } from '../output/text';
import type { StackInUse } from '../stack/connect';
import { readStackHolder, type StackHolder } from '../stack/stack-record';

/** What a job or batch waits for, and which command helps. Times are milliseconds since the epoch. */
export interface Stall extends Omit<Waiting, 'reason'> {
  /** `temporal`: no Temporal runs here, or it can't be reached. */
  reason: WaitReason | 'temporal';
  since?: number;
}

export function stallJson({ reason, waitsFor, since, until, because, next }: Stall) {
  return { reason, waitsFor, since, until, because, next: next?.command };
}

/** `report.md has been waiting since 10:25:18 (09:25:18 UTC) for vCredits of app billing. When vCredits were added: fileconv app ready --app billing` */
export function stallText(who: string, { reason, waitsFor, since, until, because, next }: Stall): string {
  const waits = since === undefined ? 'is waiting' : `has been waiting since ${bothTimes(since, { isBrief: true })}`;
  const untilWhen = untilText({ reason, until }, { isBrief: true });
  const again =
    until === undefined || untilWhen !== '' ? '' : `It tries again at ${bothTimes(until, { isBrief: true })}.`;
  const parts = [
    `${who} ${waits} for ${waitsFor}${untilWhen}.`,
    because?.replace(/[^.!?]$/, '$&.'),
    again,
    next && `${next.why}: ${next.command}`,
  ];
  return parts.filter(Boolean).join(' ');
}

/** The end of the wait, for the end of a sentence; empty if it is unknown or means something else. */
export function untilText(
  { reason, until }: Pick<Stall, 'reason'> & { until?: number | undefined },
  { isBrief = false }: { isBrief?: boolean } = {},
): string {
  if (until === undefined) return '';
  return reason === 'rateLimit' ? `, until ${bothTimes(until, { isBrief })}` : '';
}

const checkEveryMs = 1_000;
/** Time without progress before the reason is looked up. With the time for that, a person knows it within 15 s. */
const stillMs = 8_000;
interface StallNewsOptions {
  output: Output;
  /** Undefined: nothing waits, or nothing blocks it. */
  explain: () => Promise<{ who: string; stall: Stall } | undefined>;
  shownElsewhere?: readonly Stall['reason'][];
}

/** Says why nothing progresses, once per reason and per failing step, until closed. */
export class StallNews {
  private movedAt = Date.now();
  private lookedAt = 0;
  private readonly reported: Set<string>;
  private isAsking = false;
  private isClosed = false;
  private readonly timer = setInterval(() => void this.check(), checkEveryMs);

  constructor(private readonly options: StallNewsOptions) {
    this.reported = new Set(options.shownElsewhere);
  }

  moved(): void {
    this.movedAt = Date.now();
  }

  close(): void {
    this.isClosed = true;
    clearInterval(this.timer);
  }

  private async check(): Promise<void> {
    const askedAt = Date.now();
    if (this.isAsking || askedAt - Math.max(this.movedAt, this.lookedAt) < stillMs) return;
    this.isAsking = true;
    const found = await this.options.explain().catch(() => undefined);
    this.isAsking = false;
    this.lookedAt = Date.now();
    if (found && !this.isClosed && this.movedAt <= askedAt) this.report(found);
  }

  private report({ who, stall }: { who: string; stall: Stall }): void {
    const { reason, waitsFor, because, until } = stall;
    // Retries may go on for days, for example if results can't be written.
    const isFailing = reason === 'conversion' && because !== undefined && until !== undefined;
    const what = isFailing ? waitsFor : reason;
    if (this.reported.has(what)) return;
    this.reported.add(what);
    const { output } = this.options;
    const text = stallText(who, stall);
    // A terminal already shows the job's steps.
    if (isFailing || reason !== 'conversion') output.warn(text);
    else if (!output.isLive) output.say(text);
  }
}

const answerWithinMs = 6_000;
/** Temporal lists a worker only some seconds after its stack has started. */
const startsWithinMs = 30_000;

/** Finds out why something makes no progress. Never throws, whatever is broken. Without `stall` nothing blocks it. */
export interface StallReader {
  job(workflowId: string): Promise<{ stall?: Stall }>;
  batch(name: string): Promise<{ stall?: Stall; state?: BatchState }>;
}

export function createStallReader(
  { config }: CommandContext,
  { client, address, isLocal }: Pick<StackInUse, 'client' | 'address' | 'isLocal'>,
): StallReader {
  const { dir } = config.values.state;
  let holder: StackHolder | undefined;
  const stallOf = (waiting: Waiting, since: number | undefined): { stall: Stall } => {
    const { reason, next } = waiting;
    if (reason !== 'worker' || next) return { stall: { ...waiting, ...defined({ since }) } };
    if (!holder) return { stall: { ...waiting, ...defined({ since }), next: adviceOnWorker(isLocal) } };
    const isStarting = Date.now() - Date.parse(holder.since) < startsWithinMs;
    if (isStarting) return { stall: { reason, waitsFor: 'the worker of the stack, which is starting' } };
    const waitsFor = 'the worker of the stack, which does not answer';
    return { stall: { reason, waitsFor, next: adviceOnWorker(isLocal) } };
  };
  const unlessBroken = async <T>(read: () => Promise<T>): Promise<T | { stall: Stall }> => {
    // The server lists a dead worker for another minute; the local record shows at once whether a stack runs.
    holder = isLocal ? await readStackHolder(dir) : undefined;
    if (isLocal && !holder) {
      const next = { why: 'Start it', command: 'fileconv up' };
      return { stall: { reason: 'temporal', waitsFor: `a stack: none runs in ${dir}`, next } };
    }
    try {
      return await client.withDeadline(Date.now() + answerWithinMs, read);
    } catch {
      const waitsFor = `Temporal, which does not answer at ${address}`;
      const next = { why: 'What is broken', command: 'fileconv doctor' };
      return { stall: { reason: 'temporal', waitsFor, next } };
    }
  };
  return {
    job: (workflowId) =>
      unlessBroken(async () => {
        const { waiting, since } = await inspectJob(client, workflowId);
        return waiting ? stallOf(waiting, since) : {};
      }),
    batch: (name) =>
      unlessBroken(async () => {
        const { state, waiting, since } = await readBatchWaiting(client, name);
        return { ...defined({ state }), ...(waiting && stallOf(waiting, since)) };
      }),
  };
}

/** Advice if no worker takes the work. A running stack has one, but it may be too busy to be listed. */
export function adviceOnWorker(hasStack: boolean): NextStep {
  if (hasStack) return { why: 'What is wrong', command: 'fileconv doctor' };
  // One that polls may be of another version.
  return { why: 'Start one, or let fileconv doctor tell what is wrong', command: 'fileconv worker' };
}
