import { ApplicationFailure, condition, defineSignal, defineUpdate, setHandler } from '@temporalio/workflow';
import { failureCodes, type ParkedSubmit } from '../../shared/activities';
import type { ConversionJobState, CreditsWord } from '../../shared/job';
import { creditsRestoredSignal, updateRefused } from '../../shared/names';
import { shownTime } from '../../shared/wording';
import type { JobFailure } from './job-failure';
import type { JobProgress } from './job-progress';

const creditsRestored = defineSignal<[CreditsWord?]>(creditsRestoredSignal);
const creditsRestoredUpdate = defineUpdate<ConversionJobState, [CreditsWord?]>(creditsRestoredSignal);

const firstRecheckMs = 60_000;
const maxRecheckMs = 3_600_000;
const shortestPauseMs = 1_000;

/** A job's wait for vCredits: rechecks with backoff until its deadline; a signal from an operator ends it at once. */
export class CreditsPark {
  private since: number | undefined;
  /** Signals received that credits were restored. Those counted in `heard` came before the current attempt. */
  private words = 0;
  private heard = 0;
  /** When credits were last reported restored, in milliseconds since the epoch; earlier refusals are outdated. */
  restoredAt: number | undefined;
  private rechecks = 0;

  constructor(
    private readonly options: { app: string; creditsDeadlineMs: number },
    private readonly progress: JobProgress,
  ) {}

  /** Called before the first await: the signal may arrive at any time. */
  listen(): void {
    const hear = (word?: CreditsWord): ConversionJobState => {
      this.words += 1;
      const saidAt: unknown = word?.saidAt;
      this.restoredAt = typeof saidAt === 'number' ? saidAt : Date.now();
      return this.progress.state();
    };
    setHandler(creditsRestored, (word) => void hear(word));
    setHandler<ConversionJobState, [CreditsWord?], typeof creditsRestoredUpdate>(creditsRestoredUpdate, hear, {
      validator: () => this.refuseUnneeded(),
    });
  }

  private refuseUnneeded(): void {
    const { phase } = this.progress;
    if (phase === 'uploading' || phase === 'submitting' || phase === 'awaitingCredits') return;
    throw ApplicationFailure.nonRetryable(`The job needs no vCredits: it is ${phase}.`, updateRefused);
  }

  get isParked(): boolean {
    return this.progress.phase === 'awaitingCredits';
  }

  /** The deadline counts from the first park. `recheckAt`: milliseconds since the epoch; absent: by the activity. */
  enter(recheckAt?: number): void {
    const { app } = this.options;
    this.since ??= Date.now();
    if (!this.isParked) this.progress.parked(this.deadline);
    const when = recheckAt === undefined ? 'again and again' : `again at ${shownTime(recheckAt)} UTC`;
    this.progress.enter(
      'awaitingCredits',
      `App \`${app}\` has too few vCredits. It asks ${when}, for the last time at ${shownTime(this.deadline)} UTC; \`fileconv credits restored --app ${app}\` lets it continue at once.`,
    );
  }

  /** Parks until the next submit. A job that is already parked pauses first, to avoid a tight retry loop. */
  async park(): Promise<void> {
    const wasParked = this.isParked;
    this.enter();
    if (!wasParked || this.isRestored()) return;
    const pauseMs = Math.max(Math.min(firstRecheckMs, this.deadline - Date.now()), shortestPauseMs);
    await condition(() => this.isRestored(), pauseMs, { summary: 'asks for vCredits again' });
  }

  /** Milliseconds since the epoch. */
  get deadline(): number {
    return (this.since ?? Date.now()) + this.options.creditsDeadlineMs;
  }

  get isOverdue(): boolean {
    return this.since !== undefined && Date.now() >= this.deadline;
  }

  /** Parks a step that is safe to repeat: resolves when it is time to retry, throws when the deadline has passed. */
  async wait(failure: JobFailure): Promise<void> {
    this.since ??= Date.now();
    if (this.isRestored() && !this.isOverdue) return;
    const leftMs = this.deadline - Date.now();
    const recheckMs = Math.min(firstRecheckMs * 2 ** this.rechecks, maxRecheckMs, leftMs);
    this.enter(Date.now() + Math.max(recheckMs, 0));
    if (leftMs <= 0) throw this.progress.failed(this.outOfCredits(failure));
    this.rechecks += 1;
    await condition(() => this.isRestored(), recheckMs, { summary: 'asks for vCredits again' });
  }

  /** Called before each attempt, so that a signal that arrives during the attempt triggers another one. */
  forgetRestored(): void {
    this.heard = this.words;
  }

  /** A method, because control flow analysis would narrow a property and assume that no signal can change it. */
  isRestored(): boolean {
    return this.words > this.heard;
  }

  async untilRestored(): Promise<void> {
    await condition(() => this.isRestored());
  }

  /** What the submit of a parked job needs to retry by itself; undefined when the job is not parked. */
  submitDetails(askAtOnce: boolean): ParkedSubmit | undefined {
    if (!this.isParked || this.since === undefined) return undefined;
    return { since: this.since, until: this.deadline, askAtOnce };
  }

  outOfCredits(failure: JobFailure): JobFailure {
    const message = `app ${this.options.app} has had too few vCredits for longer than the credits deadline. ${failure.message}`;
    return { ...failure, code: failureCodes.creditsDeadline, reaction: 'fail', message };
  }
}
