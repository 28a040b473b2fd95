import { setTimeout as sleep } from 'node:timers/promises';
import type { CommandContext } from '../command-context';
import { CommandError, isAway } from '../command-error';
import { temporalTarget } from '../config/temporal-connection';
import type { StackInUse } from './open-temporal';
import { readLiveStack, type StackRecord } from './stack-record';
import { connectTo } from './use-stack';

const askEveryMs = 1_000;

interface Followed<Result> {
  /** Is connected to where the stack of this folder is now, when it has come back elsewhere. */
  stack: StackInUse;
  /** Asks whatever `stack` is connected to at the moment. */
  read: () => Promise<Result>;
  /** An error that tells how the work itself has ended. */
  isEnd: (error: unknown) => boolean;
  signal: AbortSignal;
}

/**
 * A result of long work; while Temporal is away, the command waits for it. The record of this folder's stack says where it is: at an
 * address that it does not name, somebody else may answer, who does not know the work.
 */
export async function readFollowing<Result>(
  context: CommandContext,
  { stack, read, isEnd, signal }: Followed<Result>,
): Promise<Result> {
  const isFollowed = stack.outlivesCommand && !temporalTarget(context).isNamed;
  for (;;) {
    const answer = await stack.untilClosed(read).then(
      (result) => ({ result }),
      (error: unknown) => ({ error }),
    );
    const now = isFollowed ? await readLiveStack(context.config.values.state.dir) : undefined;
    if (now && now.temporal.address !== stack.address) {
      if (await moveTo(context, stack, now)) continue;
    } else if ('result' in answer) return answer.result;
    else {
      const { error } = answer;
      const isElsewhere = isFollowed && !now && !isEnd(error);
      if (!stack.outlivesCommand || !(isElsewhere || isAway(error))) throw error;
    }
    await sleep(askEveryMs, undefined, { signal });
  }
}

/** Whether the stack could be reached where it is now. */
async function moveTo(context: CommandContext, stack: StackInUse, record: StackRecord): Promise<boolean> {
  const next = await connectTo(context, record, temporalTarget(context)).catch((error: unknown) => {
    if (isAway(error) || (error instanceof CommandError && error.code === 'TEMPORAL_UNREACHABLE')) return undefined;
    throw error;
  });
  if (!next) return false;
  const before = { ...stack };
  Object.assign(stack, next);
  await before.close();
  return true;
}
