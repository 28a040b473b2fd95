import type { Context } from '@temporalio/activity';
import type { ActivityInterceptors } from '@temporalio/worker';
import { appOf } from './log-attributes';

/** The app holds its share of the worker's slots: this attempt gives its own back, unused. */
export class SlotsTakenError extends Error {
  override readonly name = 'SlotsTakenError';

  constructor(
    message: string,
    /** After so long it may try again. */
    readonly comeBackMs: number,
  ) {
    super(message);
  }
}

type WhereItRuns = Pick<Context['info'], 'taskQueue' | 'isLocal'>;

interface Held {
  readonly slots: number;
  /** By app; '' for activities of no app, the host's own among them. */
  readonly byApp: Map<string, number>;
}

/** Part of a worker's slots that an app beyond its share leaves free. */
const freePart = 0.1;
const shortestAbsenceMs = 1_000;
/** Those of one app come back one after the other, so that their looks at a full worker cost little. */
const betweenReturnsMs = 50;

/**
 * Who holds the activity slots of a worker that serves several apps. One whose service answers slowly would soon hold all of them, and the
 * jobs of the others would wait for its time-outs. So each app may take what is free, but for a tenth, and has its equal share for certain.
 */
export class AppSlots {
  readonly #apps: number;
  readonly #workers = new Map<string, Held>();
  readonly #lastReturnMs = new Map<string, number>();

  /** @param apps how many app profiles there are; a single one has all slots. */
  constructor(apps: number) {
    this.#apps = apps;
  }

  /** Begins to count the slots of the worker on this task queue; an unknown number of slots is not shared out. */
  use(taskQueue: string, slots: number | undefined): void {
    if (this.#apps > 1 && slots !== undefined) this.#workers.set(taskQueue, { slots, byApp: new Map() });
  }

  /** Counts the activities under way. */
  readonly interceptor = ({ info }: { info: WhereItRuns }): ActivityInterceptors => {
    const held = this.#workers.get(info.taskQueue);
    if (!held || info.isLocal) return {};
    return {
      inbound: {
        async execute(input, next) {
          const app = appOf(input.args[0]) ?? '';
          add(held.byApp, app, 1);
          try {
            return await next(input);
          } finally {
            add(held.byApp, app, -1);
          }
        },
      },
    };
  };

  /**
   * Asks for an activity that is counted already.
   * @throws SlotsTakenError when its slot is kept for other apps.
   */
  check(taskQueue: string, app: string): void {
    const held = this.#workers.get(taskQueue);
    const own = held?.byApp.get(app) ?? 0;
    if (!held || own <= 1) return;
    const { slots, byApp } = held;
    const others = [...byApp.keys()].filter((each) => each !== '' && each !== app).length;
    // Each of those that hold none finds one.
    const idle = Math.max(0, this.#apps - 1 - others);
    const isBeyondShare = own > slots / this.#apps;
    const kept = isBeyondShare ? Math.max(Math.ceil(slots * freePart), idle) : idle;
    const free = slots - sum(byApp.values());
    if (free >= kept) return;
    const comeBackMs = this.#comeBackMs(app);
    throw new SlotsTakenError(
      `app ${app} holds ${own - 1} of this worker's ${slots} activity slots, and the rest is kept for other apps.`,
      comeBackMs,
    );
  }

  #comeBackMs(app: string): number {
    const now = performance.now();
    const at = Math.max(now + shortestAbsenceMs, (this.#lastReturnMs.get(app) ?? 0) + betweenReturnsMs);
    this.#lastReturnMs.set(app, at);
    return at - now;
  }
}

function add(counts: Map<string, number>, app: string, change: number): void {
  const count = (counts.get(app) ?? 0) + change;
  if (count === 0) counts.delete(app);
  else counts.set(app, count);
}

function sum(counts: Iterable<number>): number {
  let total = 0;
  for (const count of counts) total += count;
  return total;
}

/**
 * How many of a worker's slots steps may hold that only wait for other steps: a part of them, so that the others always find one. Shared by all
 * activities of a worker.
 */
export class WaitSlots {
  private held = 0;

  /** `limit`: asked at each use, since a worker knows its slots only once it is there. */
  constructor(private readonly limit: () => number) {}

  /** Runs `work`, which is told whether it may wait in its slot. */
  async use<T>(work: (isFree: boolean) => Promise<T>): Promise<T> {
    if (this.held >= this.limit()) return work(false);
    this.held += 1;
    try {
      return await work(true);
    } finally {
      this.held -= 1;
    }
  }
}

/** Of a worker with so many slots. */
export function waitSlotsOf(slots: number): number {
  return Math.floor(slots / 4);
}
