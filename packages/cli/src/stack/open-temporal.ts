import { requireStackAllowed, requireTemporalAllowed } from '../allowed-origins';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import { temporalTarget, type TemporalTarget } from '../config/temporal-connection';
import { connect, type StackInUse } from './stack-in-use';
import { readStackRecord, type StackRecord } from './stack-record';

/** A connection to the Temporal of this configuration, for a command that starts none. */
export interface OpenTemporal extends StackInUse {
  address: string;
  namespace: string;
  /** It is one of this machine, which a stack runs. */
  isLocal: boolean;
}

/**
 * Connects to the Temporal that runs. The caller closes it.
 * @throws CommandError `TEMPORAL_UNREACHABLE`
 */
export async function openTemporal(context: CommandContext): Promise<OpenTemporal> {
  const { values } = context.config;
  const { target, isLocal, stack } = await findTemporal(context);
  if (isLocal && !stack) {
    throw new CommandError('TEMPORAL_UNREACHABLE', [
      `No stack runs in ${values.state.dir}. Start it (fileconv up), or name a Temporal that runs (TEMPORAL_ADDRESS).`,
    ]);
  }
  const { taskQueue } = values.worker;
  return {
    ...(await connect(context, target, { taskQueue, uiUrl: stack?.temporal.uiUrl })),
    address: target.connection.address,
    namespace: target.namespace,
    isLocal,
  };
}

/** Runs what a command asks the Temporal that runs, and closes the connection. */
export async function withTemporal<T>(
  context: CommandContext,
  run: (temporal: OpenTemporal) => Promise<T>,
): Promise<T> {
  const temporal = await openTemporal(context);
  try {
    return await temporal.untilClosed(() => run(temporal));
  } finally {
    await temporal.close();
  }
}

/** The Temporal that this configuration means. */
interface TemporalInUse {
  target: TemporalTarget;
  /** It is one of this machine, which a stack runs. */
  isLocal: boolean;
  /** The stack that runs it; absent when none does, or when it is somebody's own Temporal. */
  stack: StackRecord | undefined;
}

/** Finds the Temporal for a command that starts none. */
export async function findTemporal(context: CommandContext): Promise<TemporalInUse> {
  await requireTemporalAllowed(context);
  const target = temporalTarget(context);
  const isLocal = !target.isNamed;
  const stack = isLocal ? await readStackRecord(context.config.values.state.dir) : undefined;
  if (!stack) return { target, isLocal, stack };
  requireStackAllowed(context, stack);
  const { address } = stack.temporal;
  return { target: { ...target, connection: { address } }, isLocal, stack };
}
