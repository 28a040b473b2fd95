import { formatTime, type TaskRow } from 'temporal-file-conversion-service';
import type { CommandContext } from '../../command-context';
import { CommandError } from '../../command-error';
import type { ExitCode } from '../../exit';
import { exitCodes } from '../../exit';
import { formatTable } from '../../table';
import { administer, requireApp } from './administer';

/** `fileconv service tasks list` */
export async function listTasks(
  context: CommandContext,
  { app, status, limit }: { app?: string; status?: string; limit: number },
): Promise<ExitCode> {
  const { output } = context;
  const { tasks, names } = await administer(context, (administration) => ({
    tasks: administration.listTasks({
      appId: app === undefined ? undefined : requireApp(administration, app).appId,
      status,
      limit,
    }),
    names: new Map(administration.listApps().map(({ name, appId }) => [appId, name])),
  }));
  if (output.json) {
    output.printJson({ tasks: tasks.map((task) => ({ ...task, ...timesOf(task) })) });
    return exitCodes.ok;
  }
  const rows = tasks.map((task) => [
    task.id,
    names.get(task.app) ?? task.app,
    task.endpoint,
    task.errorCode ?? task.status,
    task.inputFormat === null ? '' : `${task.inputFormat} → ${task.outputFormat ?? ''}`,
    task.vcredits === null ? '' : String(task.vcredits),
    formatTime(task.createdAt),
  ]);
  if (rows.length === 0) output.say('No tasks.');
  else output.print(formatTable(['TASK', 'APP', 'ENDPOINT', 'STATE', 'FORMATS', 'VCREDITS', 'CREATED (UTC)'], rows));
  return exitCodes.ok;
}

/** `fileconv service tasks show <id>` */
export async function showTask(context: CommandContext, id: string): Promise<ExitCode> {
  const { output } = context;
  const { task, delivery } = await administer(context, (administration) => ({
    task: administration.findTask(id),
    delivery: administration.findCallback(id),
  }));
  if (!task)
    throw new CommandError('INPUT_UNUSABLE', [`The service has no task ${id}; see: fileconv service tasks list`]);
  const { payload, result, ...rest } = task;
  const shown = {
    ...rest,
    ...timesOf(task),
    ...(delivery && { callbackDelivery: { ...delivery, ...deliveryTimes(delivery) } }),
    payload: fromJson(payload),
    result: fromJson(result ?? 'null'),
  };
  if (output.json) output.printJson(shown);
  else {
    const rows = Object.entries(shown)
      .filter(([, value]) => value !== null)
      .map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]);
    output.print(formatTable(['KEY', 'VALUE'], rows));
  }
  return exitCodes.ok;
}

function timesOf({ createdAt, completedAt }: Pick<TaskRow, 'createdAt' | 'completedAt'>) {
  return { createdAt: formatTime(createdAt), completedAt: timeOrNull(completedAt) };
}

function deliveryTimes({ nextAttemptAt, endedAt }: { nextAttemptAt: number | null; endedAt: number | null }) {
  return { nextAttemptAt: timeOrNull(nextAttemptAt), endedAt: timeOrNull(endedAt) };
}

function timeOrNull(time: number | null): string | null {
  return time === null ? null : formatTime(time);
}

function fromJson(text: string): unknown {
  return JSON.parse(text);
}
