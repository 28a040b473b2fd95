import type { Context } from '@temporalio/activity';
import type { ActivityInterceptors } from '@temporalio/worker';

/** The app has used up its share of the worker's slots, so the attempt returns its slot unused. */
export class SlotsTakenError extends Error {
  override readonly name = 'SlotsTakenError';

  constructor(
    message: string,
    readonly retryAfterMs: number,
  ) {
    super(message);
  }
}

type WhereItRuns = Pick<Context['info'], 'taskQueue' | 'isLocal'>;

interface Held {
  readonly slots: number;
  /** By app; '' for activities without an app, including the host's own. */
  readonly byApp: Map<string, number>;
}

/** Share of a worker's slots that an app above its fair share must leave free. */
const freePart = 0.1;
const minAbsenceMs = 1_000;
/** Staggers the returning attempts of an app, so that their checks at a full worker cost little. */
const betweenReturnsMs = 50;

/**
 * Shares the activity slots of a worker among its apps. Otherwise an app with a slow service would take all slots and block the others'
 * jobs. Each app has an equal share guaranteed, and may use free slots beyond it, except a tenth.
 */
export class AppSlots {
  readonly #workers = new Map<string, Held>();
  readonly #lastReturnMs = new Map<string, number>();

  /** @param apps number of app profiles; a single app may use all slots. */
  constructor(private readonly apps: number) {}

  /** Starts to count the slots of the worker on this task queue. An unknown number of slots is not shared. */
  use(taskQueue: string, slots: number | undefined): void {
    if (this.apps > 1 && slots !== undefined) this.#workers.set(taskQueue, { slots, byApp: new Map() });
  }

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
   * Checks an activity that is already counted.
   * @throws SlotsTakenError if its slot is reserved for other apps.
   */
  check(taskQueue: string, app: string): void {
    const held = this.#workers.get(taskQueue);
    const own = held?.byApp.get(app) ?? 0;
    if (!held || own <= 1) return;
    const { slots, byApp } = held;
    const others = [...byApp.keys()].filter((each) => each !== '' && each !== app).length;
    // Reserves a slot for each app that holds none.
    const idle = Math.max(0, this.apps - 1 - others);
    const isBeyondShare = own > slots / this.apps;
    const kept = isBeyondShare ? Math.max(Math.ceil(slots * freePart), idle) : idle;
    const free = slots - [...byApp.values()].reduce((sum, count) => sum + count, 0);
    if (free >= kept) return;
    const retryAfterMs = this.#retryAfterMs(app);
    throw new SlotsTakenError(
      `app ${app} holds ${own - 1} of this worker's ${slots} activity slots, and the rest is kept for other apps.`,
      retryAfterMs,
    );
  }

  #retryAfterMs(app: string): number {
    // Whole milliseconds keep the sums exact.
    const now = Math.round(performance.now());
    const at = Math.max(now + minAbsenceMs, (this.#lastReturnMs.get(app) ?? 0) + betweenReturnsMs);
    this.#lastReturnMs.set(app, at);
    return at - now;
  }
}

function add(counts: Map<string, number>, app: string, change: number): void {
  const count = (counts.get(app) ?? 0) + change;
  if (count === 0) counts.delete(app);
  else counts.set(app, count);
}

/** Limits the slots of activities that only wait for other activities, which need slots too. Shared per worker. */
export class WaitSlots {
  private held = 0;

  /** `limit` is read at each use, because the number of slots is only known once the worker exists. */
  constructor(private readonly limit: () => number) {}

  /** `isFree` says whether `work` may wait in its slot. */
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

export function waitSlotsOf(slots: number): number {
  return Math.floor(slots / 4);
}

const ownPrefix = 'conversion.';

/** Adds the app profile to every log line of our activities, including the SDK's. */
export function logAttributes({ info }: Context): ActivityInterceptors {
  if (!info.activityType.startsWith(ownPrefix)) return {};
  let app: string | undefined;
  return {
    inbound: {
      execute(input, next) {
        app = appOf(input.args[0]);
        return next(input);
      },
    },
    outbound: {
      getLogAttributes: (attributes, next) => next(app === undefined ? attributes : { ...attributes, app }),
    },
  };
}

function appOf(argument: unknown): string | undefined {
  const { app } = (argument ?? {}) as { app?: unknown };
  return typeof app === 'string' ? app : undefined;
}
