import { requireStackAllowed, requireTemporalAllowed } from '../allowed-origins';
import type { CommandContext } from '../command-context';
import { temporalTarget } from '../config/temporal-connection';
import type { TemporalTarget } from '../config/temporal-connection';
import { readStackRecord } from './stack-record';
import type { StackRecord } from './stack-record';

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
  const { config, env } = context;
  const { temporal, state } = config.values;
  const target = temporalTarget(temporal, env);
  const isLocal = !target.isNamed;
  const stack = isLocal ? await readStackRecord(state.dir) : undefined;
  if (!stack) return { target, isLocal, stack };
  requireStackAllowed(context, stack);
  const { address } = stack.temporal;
  return { target: { ...target, connection: { address } }, isLocal, stack };
}
