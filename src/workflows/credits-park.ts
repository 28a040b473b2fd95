import { condition, defineSignal, setHandler } from '@temporalio/workflow';
import type { ParkedSubmit } from '../shared/activities';
import { failureCodes } from '../shared/activities';
import type { CreditsWord } from '../shared/job';
import { creditsRestoredSignal } from '../shared/names';
import { shownTime } from '../shared/shown-time';
import type { JobFailure } from './job-failure';
import { countParked } from './job-metrics';
import type { JobProgress } from './job-progress';

const creditsRestored = defineSignal<[CreditsWord?]>(creditsRestoredSignal);

const firstRecheckMs = 60_000;
const maxRecheckMs = 3_600_000;
const shortestPauseMs = 1_000;

/** A job's wait for vCredits: until its deadline, with a recheck now and then, and over at once when somebody says that there are some. */
export class CreditsPark {
  private since: number | undefined;
  /** Words of an operator that there are credits again; those that a question was asked with are no news any more. */
  private words = 0;
  private heard = 0;
  private lastWordAt: number | undefined;
  private rechecks = 0;

  constructor(
    private readonly options: { app: string; creditsDeadlineMs: number },
    private readonly progress: JobProgress,
  ) {}

  /** Before anything is awaited: the signal may come at any time. */
  listen(): void {
    setHandler(creditsRestored, (word) => {
      this.words += 1;
      const saidAt: unknown = word?.saidAt;
      this.lastWordAt = typeof saidAt === 'number' ? saidAt : Date.now();
    });
  }

  get isParked(): boolean {
    return this.progress.phase === 'awaitingCredits';
  }

  /** Parks, or stays parked. The time begins with the first park and goes on over later ones. `recheckAt`: when no activity tells. */
  enter(recheckAt?: number): void {
    const { app } = this.options;
    this.since ??= Date.now();
    if (!this.isParked) {
      countParked();
      this.progress.log.parked(this.deadline);
    }
    const when = recheckAt === undefined ? 'again and again' : `again at ${shownTime(recheckAt)} UTC`;
    this.progress.enter(
      'awaitingCredits',
      `App \`${app}\` has too few vCredits. It asks ${when}, for the last time at ${shownTime(this.deadline)} UTC; \`fileconv credits restored --app ${app}\` lets it go on at once.`,
    );
  }

  /** Parks until the next submit. A job that is parked already pauses, whatever brought it here, so that it never asks in a circle. */
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

  /** Parks a step that can be run again: resolves when it is time to try, or throws when the deadline has passed. */
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

  /** Before each attempt: word that comes while it is under way is news, even when it is still refused. */
  forgetRestored(): void {
    this.heard = this.words;
  }

  /** A call, since control flow analysis takes a signal that has not come for one that never will. */
  isRestored(): boolean {
    return this.words > this.heard;
  }

  async untilRestored(): Promise<void> {
    await condition(() => this.isRestored());
  }

  /** When an operator last said that there are credits again; the service's refusals that came before say nothing then. */
  get restoredAt(): number | undefined {
    return this.lastWordAt;
  }

  /** What a submit of a parked job must know to ask again by itself; undefined when the job is not parked. */
  submitDetails(askAtOnce: boolean): ParkedSubmit | undefined {
    if (!this.isParked || this.since === undefined) return undefined;
    return { since: this.since, until: this.deadline, askAtOnce };
  }

  outOfCredits(failure: JobFailure): JobFailure {
    const message = `app ${this.options.app} has had too few vCredits for longer than the credits deadline. ${failure.message}`;
    return { ...failure, code: failureCodes.creditsDeadline, reaction: 'fail', message };
  }
}
