import { setTimeout as sleep } from 'node:timers/promises';
import type { CommandContext } from '../command-context';
import { CommandError, isAway } from '../command-error';
import type { StackInUse } from './connect';
import { readLiveStack } from './stack-record';

const askEveryMs = 1_000;

interface Followed<Result> {
  stack: StackInUse;
  read: () => Promise<Result>;
  /** Whether the error is the outcome of the work itself. */
  isEnd: (error: unknown) => boolean;
  signal: AbortSignal;
}

/**
 * Reads the result of long work and waits while Temporal is away. Fails if this folder's stack restarts at another address, because
 * the old one may by then be another server that does not know the work.
 */
export async function readFollowing<Result>(
  context: CommandContext,
  { stack, read, isEnd, signal }: Followed<Result>,
): Promise<Result> {
  const isFollowed = stack.outlivesCommand && stack.isLocal;
  for (;;) {
    const answer = await stack.untilClosed(read).then(
      (result) => ({ result }),
      (error: unknown) => ({ error }),
    );
    const now = isFollowed ? await readLiveStack(context.config.values.state.dir) : undefined;
    if (now && now.temporal.address !== stack.address) {
      const problem = `The stack of this folder was started again at another address (${now.temporal.address}).`;
      throw new CommandError('TEMPORAL_UNREACHABLE', [`${problem} The same command again waits for the rest there.`]);
    }
    if ('result' in answer) return answer.result;
    const isGone = isFollowed && !now && !isEnd(answer.error);
    if (!stack.outlivesCommand || !(isGone || isAway(answer.error))) throw answer.error;
    await sleep(askEveryMs, undefined, { signal });
  }
}
