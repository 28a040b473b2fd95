import {
  readStepLimit,
  setStepLimit,
  type StepLimit,
} from 'temporal-file-conversion/internal/client/operations/task-queue-workers';
import type { CommandContext } from '../command-context';
import { withTemporal } from '../stack/open-temporal';

export function setLimit(context: CommandContext, perSecond: number, { reason }: { reason: string }): Promise<void> {
  return change(context, { perSecond, reason });
}

export function clearLimit(context: CommandContext): Promise<void> {
  return change(context, { perSecond: undefined, reason: 'removed with fileconv limit clear' });
}

/** `fileconv limit show`, and what every change ends with. */
export function showLimit(context: CommandContext): Promise<void> {
  return change(context);
}

async function change(
  context: CommandContext,
  limit?: { perSecond: number | undefined; reason: string },
): Promise<void> {
  return withTemporal(context, async ({ client, taskQueue }) => {
    if (limit) await setStepLimit(client, { taskQueue, ...limit });
    tell(context, taskQueue, await readStepLimit(client, taskQueue));
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
