import { shellWord } from 'temporal-file-conversion/messages';
import { lastStackFolder } from '../allowed';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import { temporalTarget, type TemporalTarget } from '../config/temporal-connection';
import type { StackInUse } from './connect';
import { isOfStack, readLiveStack, readStackHolder, readStackRecord, type StackRecord } from './stack-record';

/**
 * Connects to a running Temporal, for a command that starts none. The caller closes the connection.
 * @throws CommandError `TEMPORAL_UNREACHABLE`
 */
export async function openTemporal(context: CommandContext): Promise<StackInUse> {
  const { target, stack } = await findTemporal(context);
  // Late: a command that has nothing to connect to fails without it.
  const { connect } = await import('./connect.js');
  return connect(context, target, { taskQueue: context.config.values.worker.taskQueue, stack });
}

export async function withTemporal<T>(context: CommandContext, run: (temporal: StackInUse) => Promise<T>): Promise<T> {
  const temporal = await openTemporal(context);
  try {
    return await temporal.untilClosed(() => run(temporal));
  } finally {
    await temporal.close();
  }
}

/**
 * Finds the Temporal for a command that starts none: the user's own, or that of this machine's stack, together with the stack.
 * @throws CommandError `TEMPORAL_UNREACHABLE` if none is named and no stack runs: the default port may belong to another folder's stack.
 */
export async function findTemporal(
  context: CommandContext,
): Promise<{ target: TemporalTarget; stack: StackRecord | undefined }> {
  const target = temporalTarget(context);
  const { dir } = context.config.values.state;
  const stack = await readStackRecord(dir);
  if (target.isNamed) {
    return { target, stack: stack && isOfStack(stack, target.connection.address) ? stack : undefined };
  }
  if (stack) return { target: { ...target, connection: { address: stack.temporal.address } }, stack };
  throw new CommandError('TEMPORAL_UNREACHABLE', [await whyNoStack(context)]);
}

async function whyNoStack(context: CommandContext): Promise<string> {
  const { dir } = context.config.values.state;
  const holder = await readStackHolder(dir);
  if (holder) return `The stack of ${dir} is starting or stopping (process ${holder.pid}). Try again in a moment.`;
  const last = await lastStackFolder(context);
  const isElsewhere = last !== undefined && last !== dir && (await readLiveStack(last)) !== undefined;
  const elsewhere = isElsewhere
    ? ` One runs in ${last}: run the command in its folder, or set FILECONV_STATE_DIR=${shellWord(last)}.`
    : '';
  return `No stack runs in ${dir}. Start one (fileconv up), or set TEMPORAL_ADDRESS to a Temporal that runs.${elsewhere}`;
}
