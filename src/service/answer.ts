import type { IncludeItem } from '../api/contract';
import { errorCodes } from '../api/error-codes';
import type { TaskError } from './task-error';
import type { Task } from './task-store';

/** Composing "Task response body". Stored JSON goes out as the text it is, so that nothing in it can change on the way. */

/** What an answer says about its task. Never changed: a task that goes on is another object. */
export type AnsweredTask = Pick<Task, 'id' | 'endpoint' | 'status' | 'payload'> &
  Partial<Pick<Task, 'result' | 'vcredits' | 'createdAt' | 'startedAt' | 'completedAt'>>;

interface ResultParts {
  output?: object;
  error?: { code: string; message: string };
  warning?: Readonly<Record<string, string>>;
}

export function resultJson({ output = {}, error, warning = {} }: ResultParts): string {
  return JSON.stringify({ output, error: error ?? {}, warning });
}

/** A task response, or the monitored part of one: the items that were asked for, in the document's order. */
export function taskJson(task: AnsweredTask, include: readonly IncludeItem[]): string {
  let json = '';
  if (include.includes('entity')) json += `,"entity":${entityJson(task)}`;
  if (include.includes('payload')) json += `,"payload":${task.payload}`;
  // Known clients take any key in `result` for the end of the task, so it stays empty until then.
  if (include.includes('result')) json += `,"result":${task.status === 'completed' ? (task.result ?? '{}') : '{}'}`;
  return `{${json.slice(1)}}`;
}

export function errorJson(error: TaskError): string {
  return `{"result":${resultJson({ error: { code: error.code, message: error.message } })}}`;
}

export function errorStatus(error: TaskError): number {
  return errorCodes[error.code].httpStatus;
}

/** `YYYY-MM-DD HH:MM:SS`, in UTC. */
export function formatTime(time: number): string {
  return new Date(time).toISOString().slice(0, 19).replace('T', ' ');
}

/** Of the tasks that are in memory: those that are polled are asked for over and over. */
const entities = new WeakMap<AnsweredTask, string>();

function entityJson(task: AnsweredTask): string {
  const known = entities.get(task);
  if (known !== undefined) return known;
  const json = JSON.stringify({
    id: task.id,
    type: 'task',
    endpoint: task.endpoint,
    status: task.status,
    vcredits: task.vcredits ?? undefined,
    created_at: timeOrNull(task.createdAt),
    started_at: timeOrNull(task.startedAt),
    completed_at: timeOrNull(task.completedAt),
  });
  entities.set(task, json);
  return json;
}

function timeOrNull(time: number | null | undefined): string | null {
  return time === null || time === undefined ? null : formatTime(time);
}
