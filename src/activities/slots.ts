import type { Context } from '@temporalio/activity';
import type { ActivityInterceptors } from '@temporalio/worker';

/** Limits the slots of activities that only wait for others, so that the others find one. Shared per worker. */
export class WaitSlots {
  private held = 0;

  /** `limit` is read at each use, because the number of slots is only known once the worker exists. */
  constructor(private readonly limit: () => number) {}

  /** Runs `work`; `isFree` says whether it may wait in its slot. */
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
