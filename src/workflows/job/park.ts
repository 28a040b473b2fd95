import {
  CancellationScope,
  CancelledFailure,
  condition,
  defineSignal,
  defineUpdate,
  getExternalWorkflowHandle,
  isCancellation,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { Parking } from '../../job/activities';
import type { ItemWaits } from '../../batch/model/types';
import type { AppReady, ConversionJobState, ParkReason } from '../../job/types';
import { appReadySignal, conversionItemWaitsSignal, inBatchMemo } from '../../job/names';
import { formatDuration, shellWord, shownTime } from '../../messages/wording';
import { readFailure, type JobFailure } from './job-failure';
import type { JobProgress } from './job-progress';

const appReady = defineSignal<[AppReady?]>(appReadySignal);
const appReadyUpdate = defineUpdate<ConversionJobState, [AppReady?]>(appReadySignal);

export interface ParkOptions {
  app: string;
  destination: string;
  deadlineMs: number;
  parksRefused: boolean;
}

/**
 * A job that waits for a person: for vCredits, for its account to be accepted, or for room at its destination. A refused step costs
 * nothing, so the step itself is the probe: its activity retries with growing pauses, which add nothing to the history. The signal or
 * Update `appReady` makes the job try at once.
 *
 *     working --a step is refused--> parked --the step succeeds, or fails otherwise--> working
 *                                    parked --deadline of all parks together--> failed, with the refusal's code
 */
export class Park {
  private parked:
    { reason: ParkReason; code: string; message: string; neededBytes: number | undefined; since: number } | undefined;
  /** Time spent in earlier parks. */
  spentMs = 0;
  /** `appReady` messages received; `heard` counts those from before the current attempt. */
  private received = 0;
  private receivedBefore = 0;
  private readyAt: number | undefined;

  constructor(
    private readonly options: ParkOptions,
    private readonly progress: JobProgress,
  ) {}

  /** Call before the first await: the message may come at any time. */
  listen(): void {
    const receive = (word?: AppReady): ConversionJobState => {
      this.received += 1;
      const sentAt: unknown = word?.sentAt;
      this.readyAt = typeof sentAt === 'number' ? sentAt : Date.now();
      return this.progress.state();
    };
    setHandler(appReady, (word) => void receive(word));
    setHandler(appReadyUpdate, receive);
  }

  get isParked(): boolean {
    return this.parked !== undefined;
  }

  /** Size of the result that did not fit at the destination, where known. */
  get neededBytes(): number | undefined {
    return this.parked?.neededBytes;
  }

  /** Milliseconds since the epoch. */
  get deadline(): number {
    return (this.parked?.since ?? Date.now()) + this.options.deadlineMs - this.spentMs;
  }

  /** The deadline of a step, plus the rest of the park: a parked job does not use up the step's own time. */
  stretched(deadlineMs: number): number {
    return this.parked ? Math.max(this.deadline - Date.now(), 0) + deadlineMs : deadlineMs;
  }

  /** Runs a step once or, while the job is parked, again after each `appReady`. A step that succeeds ends the park. */
  run<T>(step: (parking: Parking) => Promise<T>): Promise<T> {
    if (this.parked) return this.runParked(step);
    this.receivedBefore = this.received;
    return step(this.parking(false));
  }

  private async runParked<T>(step: (parking: Parking) => Promise<T>): Promise<T> {
    for (let asksAtOnce = this.isSignalled(); ; asksAtOnce = true) {
      this.receivedBefore = this.received;
      const scope = new CancellationScope();
      const done = scope.run(() => step(this.parking(asksAtOnce)));
      const settled = done.then(
        () => undefined,
        () => undefined,
      );
      await Promise.race([settled, condition(() => this.isSignalled()).catch(() => undefined)]);
      // An activity between two attempts is cancelled at once; a submit in flight is completed.
      if (this.isSignalled()) scope.cancel();
      try {
        const result = await done;
        this.over();
        return result;
      } catch (error) {
        const isCutByUs = this.isSignalled() && !CancellationScope.current().consideredCancelled;
        if (!isCancellation(error) || !isCutByUs) throw error;
        this.progress.requests += requestsOfCut(error);
      }
    }
  }

  /** Classifies an error of `run`. Reaction `park`: call `enter`; any other ends the park. `deadlineCode` is the step's own. */
  read(error: unknown, deadlineCode: string): JobFailure {
    const { parked } = this;
    const failure = readFailure(error, parked?.code ?? deadlineCode);
    const isOverdue = parked && failure.reaction === 'fail' && failure.code === parked.code;
    if (isOverdue || (failure.reaction === 'park' && Date.now() >= this.deadline)) return this.gaveUp(failure);
    const isRefused = failure.reaction === 'park' && failure.origin !== 'task';
    if (!isRefused) this.over();
    return failure;
  }

  enter({ code, message, neededBytes = this.neededBytes, parkedFor: reason = 'account' }: JobFailure): void {
    const isNew = reason !== this.parked?.reason;
    this.parked = { reason, code, message, neededBytes, since: this.parked?.since ?? Date.now() };
    const { app } = this.options;
    const { problem, advice } = this.wait(reason);
    const command = `fileconv app ready --app ${shellWord(app)}`;
    if (isNew) this.progress.parked({ reason, code, until: this.deadline });
    const lastAt = shownTime(this.deadline);
    this.progress.enter(
      'parked',
      `${problem}. ${advice} The job tries again and again, for the last time at ${lastAt} UTC; \`${command}\` lets it continue at once.`,
    );
    if (!isNew) return;
    const next = `When that is fixed, the batch continues by itself; at once: ${command}`;
    // The message of the refusal says more than we can.
    const explained = `${reason === 'room' ? `${problem}. ${advice}` : message} ${next}`;
    this.notifyBatch({ code, message: explained, ...(reason !== 'room' && { app }), over: false });
  }

  private parking(asksAtOnce: boolean): Parking {
    const { parked, readyAt, options } = this;
    return {
      ...(parked && {
        parked: {
          ...{ reason: parked.reason, code: parked.code, message: parked.message },
          until: this.deadline,
          ...(asksAtOnce && { asksAtOnce }),
        },
      }),
      ...(readyAt !== undefined && { readyAt }),
      ...(options.parksRefused && { parksRefused: true }),
    };
  }

  /** A method, because control flow analysis would narrow a property and assume that no signal can change it. */
  private isSignalled(): boolean {
    return this.received > this.receivedBefore;
  }

  private over(): void {
    if (!this.parked) return;
    const { code, since } = this.parked;
    this.spentMs += Date.now() - since;
    this.parked = undefined;
    this.progress.enter(this.progress.step);
    this.notifyBatch({ code, message: '', over: true });
  }

  private gaveUp(failure: JobFailure): JobFailure {
    const { problem, advice } = this.wait(this.parked?.reason ?? failure.parkedFor ?? 'account');
    const longest = formatDuration(this.options.deadlineMs);
    const message = `${problem}, for longer than policy parkedDeadline allows (${longest}). ${advice} ${failure.message}`;
    return { ...failure, reaction: 'fail', message };
  }

  private wait(reason: ParkReason): { problem: string; advice: string } {
    const { app, destination } = this.options;
    switch (reason) {
      case 'credits':
        return { problem: `App ${app} has too few vCredits`, advice: 'Add some.' };
      case 'account':
        return {
          problem: `The service refuses the account of app ${app}`,
          advice: 'Correct its token, plan or account.',
        };
      case 'room':
        return { problem: `No room at ${destination}`, advice: 'Make room there.' };
    }
  }

  /** Notifies the batch, which then starts no more jobs. Errors are ignored: the batch may have ended. */
  private notifyBatch(wait: Omit<ItemWaits, 'workflowId'>): void {
    const { parent, memo, workflowId } = workflowInfo();
    if (!parent || memo?.[inBatchMemo] !== true) return;
    getExternalWorkflowHandle(parent.workflowId)
      .signal<[ItemWaits]>(conversionItemWaitsSignal, { workflowId, ...wait })
      .catch(() => undefined);
  }
}

/** Requests of an activity cancelled right after a refusal; if it was cancelled between two attempts, they are unknown. */
function requestsOfCut(error: unknown): number {
  const last = error instanceof CancelledFailure ? error.cause : undefined;
  return last ? readFailure(last, '').requests : 0;
}
