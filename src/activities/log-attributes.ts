import type { Context } from '@temporalio/activity';
import type { ActivityInterceptors } from '@temporalio/worker';

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

export function appOf(argument: unknown): string | undefined {
  const { app } = (argument ?? {}) as { app?: unknown };
  return typeof app === 'string' ? app : undefined;
}
