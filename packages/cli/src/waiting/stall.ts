import type { Client, Connection } from '@temporalio/client';
import { inspectJob, readBatchWaiting } from 'temporal-file-conversion/internal/client/operations/inspect-job';
import type { Waiting, WaitReason } from 'temporal-file-conversion/internal/client/operations/job-waiting';
import type { BatchState } from 'temporal-file-conversion/internal/shared/batch';
import { defined } from 'temporal-file-conversion/internal/shared/defined';
import { shellWord } from 'temporal-file-conversion/internal/shared/wording';
import type { CommandContext } from '../command-context';
import { temporalTarget } from '../config/temporal-connection';
import type { Output } from '../output/output';
import { bothTimes } from '../output/text';
import { readStackHolder } from '../stack/stack-record';

/** What a job or a batch waits for, and which command helps. Times are milliseconds since the epoch. */
export interface Stall extends Omit<Waiting, 'reason'> {
  /** `stack`: none runs here; `temporal`: it can't be reached. */
  reason: WaitReason | 'stack' | 'temporal';
  since?: number;
  next?: NextStep;
}

export interface NextStep {
  /** Begins a sentence that ends with the command. */
  why: string;
  command: string;
}

export function stallJson({ reason, waitsFor, since, until, because, next }: Stall) {
  return { reason, waitsFor, since, until, because, next: next?.command };
}

/** `report.md has waited for vCredits of app billing since 10:25:18 (09:25:18 UTC). When vCredits were added: fileconv credits restored --app billing` */
export function stallText(who: string, { reason, waitsFor, since, until, because, next }: Stall): string {
  const waits = since === undefined ? 'waits' : 'has waited';
  const sinceWhen = since === undefined ? '' : ` since ${bothTimes(since, { isBrief: true })}`;
  const untilWhen = untilText({ reason, until }, { isBrief: true });
  const again =
    until === undefined || untilWhen !== '' ? '' : `It tries again at ${bothTimes(until, { isBrief: true })}.`;
  const parts = [
    `${who} ${waits} for ${waitsFor}${sinceWhen}${untilWhen}.`,
    because !== undefined && asSentence(because),
    again,
    next && `${next.why}: ${next.command}`,
  ];
  return parts.filter(Boolean).join(' ');
}

/** Follows what is waited for; empty when the time says something else, or is not known. */
export function untilText(
  { reason, until }: Pick<Stall, 'reason'> & { until?: number | undefined },
  { isBrief = false }: { isBrief?: boolean } = {},
): string {
  if (until === undefined) return '';
  if (reason === 'rateLimit') return `, until ${bothTimes(until, { isBrief })}`;
  return reason === 'callback' ? `, until ${bothTimes(until, { isBrief })} at the latest` : '';
}

function asSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

const checkEveryMs = 1_000;
/** After so long without progress the reason is looked up; with the time that this takes, a person knows it within 15 s. */
const stillMs = 8_000;
/** Normal waits, which a terminal shows anyway. */
const everyday: readonly Stall['reason'][] = ['conversion', 'callback', 'attempt'];

interface StallNewsOptions {
  output: Output;
  /** Undefined: nothing is in the way, or nothing waits. */
  explain: () => Promise<{ who: string; stall: Stall } | undefined>;
  toldElsewhere?: readonly Stall['reason'][];
}

/** Says why nothing progresses, once for each reason, until it is closed. */
export class StallNews {
  /** What was found when it was last looked at; undefined while things move. */
  last: Stall | undefined;
  private movedAt = Date.now();
  private lookedAt = 0;
  private readonly told: Set<Stall['reason']>;
  private isAsking = false;
  private isClosed = false;
  private readonly timer = setInterval(() => void this.check(), checkEveryMs);

  constructor(private readonly options: StallNewsOptions) {
    this.told = new Set(options.toldElsewhere);
  }

  moved(): void {
    this.movedAt = Date.now();
    this.last = undefined;
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
    if (this.isClosed || this.movedAt > askedAt) return;
    this.last = found?.stall;
    if (found) this.tell(found);
  }

  private tell({ who, stall }: { who: string; stall: Stall }): void {
    if (this.told.has(stall.reason)) return;
    this.told.add(stall.reason);
    const { output } = this.options;
    const text = stallText(who, stall);
    if (!everyday.includes(stall.reason)) output.warn(text);
    else if (!output.isLive) output.say(text);
  }
}

const answerWithinMs = 6_000;
/** A worker is seen by Temporal some seconds after its stack was started. */
const startsWithinMs = 30_000;

/** Finds out why something does not progress. It never throws, whatever is broken; without a stall nothing is in the way. */
export interface StallReader {
  job(workflowId: string): Promise<{ stall?: Stall }>;
  batch(name: string): Promise<{ stall?: Stall; state?: BatchState }>;
}

export function createStallReader(context: CommandContext, client: Client): StallReader {
  const { values } = context.config;
  const { connection, isNamed } = temporalTarget(context);
  const isLocal = !isNamed;
  // That of a stack is not the configuration's.
  const askedAt = (client.connection as Partial<Connection>).options?.address;
  let isStarting = false;
  const withNext = (stall: Stall, about: Omit<Parameters<typeof nextStep>[1], 'isLocal'>): { stall: Stall } => {
    if (isStarting && stall.reason === 'worker')
      return { stall: { ...stall, waitsFor: 'the worker of the stack, which is starting' } };
    const next = nextStep(stall.reason, { ...about, isLocal });
    return { stall: { ...stall, ...(next && { next }) } };
  };
  const unlessBroken = async <T>(read: () => Promise<T>): Promise<T | { stall: Stall }> => {
    // The server lists a worker for a minute after it died; whether a stack runs on this machine is known better here.
    const holder = isLocal ? await readStackHolder(values.state.dir) : undefined;
    isStarting = holder !== undefined && Date.now() - Date.parse(holder.since) < startsWithinMs;
    if (isLocal && !holder) {
      return withNext({ reason: 'stack', waitsFor: `a stack: none runs in ${values.state.dir}` }, {});
    }
    try {
      return await client.withDeadline(Date.now() + answerWithinMs, read);
    } catch {
      const waitsFor = `Temporal, which does not answer at ${askedAt ?? connection.address}`;
      return withNext({ reason: 'temporal', waitsFor }, {});
    }
  };
  return {
    job: (workflowId) =>
      unlessBroken(async () => {
        const { app, waiting, since } = await inspectJob(client, workflowId);
        return waiting ? withNext({ ...waiting, since }, { app, workflowId }) : {};
      }),
    batch: (name) =>
      unlessBroken(async () => {
        const { state, waiting, since, app } = await readBatchWaiting(client, name);
        if (!waiting) return defined({ state });
        const about = defined({ app, workflowId: name, batch: state?.status === 'paused' ? name : undefined });
        return { ...defined({ state }), ...withNext({ ...waiting, ...defined({ since }) }, about) };
      }),
  };
}

/** The command that helps with a stall; undefined when one can only wait. */
export function nextStep(
  reason: Stall['reason'],
  { app, isLocal, batch, workflowId = '' }: { isLocal: boolean; app?: string; batch?: string; workflowId?: string },
): NextStep | undefined {
  const ofApp = app === undefined ? '' : ` --app ${shellWord(app)}`;
  const broken = { why: 'What is broken', command: `fileconv doctor${ofApp}` };
  const goOn =
    batch === undefined
      ? `temporal workflow unpause --workflow-id ${shellWord(workflowId)}`
      : `fileconv batch resume ${shellWord(batch)}`;
  const steps: Partial<Record<Stall['reason'], NextStep>> = {
    stack: { why: 'Start it', command: 'fileconv up' },
    worker: { why: 'Start one', command: isLocal ? 'fileconv up' : 'fileconv worker' },
    paused: { why: 'Continue', command: goOn },
    credits: { why: 'When vCredits were added', command: `fileconv credits restored${ofApp}` },
    temporal: isLocal
      ? { why: 'Start the stack', command: 'fileconv up' }
      : { why: 'What is broken', command: 'fileconv doctor' },
    service: broken,
    account: { why: 'When that is fixed', command: `fileconv app ready${ofApp}` },
    appProfile: broken,
    attempt: { why: 'Whether anything is broken', command: `fileconv doctor${ofApp}` },
    sharedFolder: { why: 'Workers and where they are', command: 'fileconv doctor' },
    slot: { why: 'Workers and their limit', command: 'fileconv doctor' },
    workflowTask: { why: 'Its events', command: `temporal workflow show --workflow-id ${shellWord(workflowId)}` },
  };
  return steps[reason];
}
