import { setTimeout as sleep } from 'node:timers/promises';
import { hasStatus } from 'temporal-file-conversion/client';
import type { CommandContext } from '../command-context';
import { isAway } from '../command-error';
import { temporalCommand, type TemporalTarget } from '../config/temporal-connection';
import { aborted } from './asked-to-end';
import { lazyConnection } from './quiet-retries';

const intervalMs = 2_000;
const timeoutMs = 5_000;

type Obstacle = 'away' | 'noNamespace' | undefined;

/**
 * Says once when the Temporal of a stack goes away or loses its namespace, with what to do, and once when it is there again. A server of
 * the stack's own is started again by whoever started it, who says so.
 */
export function watchTemporal(
  { output }: Pick<CommandContext, 'output'>,
  target: TemporalTarget,
): { close(): Promise<void> } {
  const { connection: options, namespace, isNamed } = target;
  const connection = lazyConnection(options);
  const over = new AbortController();
  const ended = aborted(over.signal);
  // A function, since TypeScript would otherwise narrow `aborted` to false for good.
  const isOver = () => over.signal.aborted;

  function look(): Promise<Obstacle> {
    const ask = () => connection.workflowService.describeNamespace({ namespace });
    return connection.withDeadline(Date.now() + timeoutMs, ask).then(
      () => undefined,
      (error: unknown) => {
        if (hasStatus(error, 'NOT_FOUND')) return 'noNamespace';
        return isNamed && isAway(error) ? 'away' : undefined;
      },
    );
  }

  async function watch(): Promise<void> {
    let told: Obstacle;
    for (;;) {
      await sleep(intervalMs, undefined, { signal: over.signal, ref: false }).catch(() => undefined);
      // A request that waits to be repeated when its connection is closed is never answered.
      const looking = look();
      await Promise.race([looking, ended]);
      if (isOver()) return;
      const found = await looking;
      if (found === told) continue;
      told = found;
      if (found) output.warn(wordsOf(found, target));
      else output.say(`Temporal answers again at ${options.address}, and the stack goes on.`);
    }
  }

  const watched = watch();
  return {
    async close() {
      over.abort();
      await connection.close();
      await watched;
    },
  };
}

function wordsOf(obstacle: 'away' | 'noNamespace', target: TemporalTarget): string {
  const { connection, namespace } = target;
  if (obstacle === 'away') {
    return `Temporal does not answer any more at ${connection.address}. Start it there: jobs wait, and go on by themselves when it is back.`;
  }
  const create = temporalCommand(target, 'operator namespace create');
  return `Temporal at ${connection.address} has no namespace ${namespace} any more, and nothing is converted. If it was deleted, its jobs are gone; to begin anew, type: ${create} && fileconv namespace init`;
}
