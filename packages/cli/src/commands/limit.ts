import {
  readStepLimit,
  setStepLimit,
  type StepLimit,
} from 'temporal-file-conversion/internal/client/operations/task-queue-workers';
import type { CommandContext } from '../command-context';
import { exitCodes, type ExitCode } from '../command-error';
import { withTemporal } from '../stack/open-temporal';

/** `fileconv limit show` */
export async function showLimit(context: CommandContext): Promise<ExitCode> {
  return withTemporal(context, async ({ client, taskQueue }) => {
    tell(context, taskQueue, await readStepLimit(client, taskQueue));
    return exitCodes.ok;
  });
}

/** `fileconv limit set` and `fileconv limit clear` */
export async function changeLimit(
  context: CommandContext,
  change: { perSecond: number | undefined; reason: string },
): Promise<ExitCode> {
  return withTemporal(context, async ({ client, taskQueue }) => {
    await setStepLimit(client, { taskQueue, ...change });
    tell(context, taskQueue, await readStepLimit(client, taskQueue));
    return exitCodes.ok;
  });
}

function tell({ output }: CommandContext, taskQueue: string, limit: StepLimit | undefined): void {
  if (output.json) output.printJson({ taskQueue, limit: limit ?? null });
  else output.print(describeLimit(taskQueue, limit));
  const unheld = limit && whyUnheld(limit);
  if (unheld !== undefined) output.warn(unheld);
}

function describeLimit(taskQueue: string, limit: StepLimit | undefined): string {
  if (!limit) return `Task queue ${taskQueue}: no limit beyond those of the services.`;
  const { perSecond, reason, setBy, setAt } = limit;
  const since = setAt === undefined ? '' : ` since ${new Date(setAt).toISOString()}`;
  const note = [reason, setBy && `by ${setBy}`].filter(Boolean).join(', ');
  return `Task queue ${taskQueue}: all workers that obey it together begin at most ${perSecond} step${perSecond === 1 ? '' : 's'} a second${since}${note && ` (${note})`}.`;
}

/** Undefined when every worker obeys the limit. */
export function whyUnheld({ disobeyedBy }: StepLimit): string | undefined {
  if (disobeyedBy.length === 0) return undefined;
  return `It does not hold for ${disobeyedBy.join(', ')}: start workers again with common_limit = "on" in [worker] (FILECONV_WORKER_COMMON_LIMIT=on).`;
}
