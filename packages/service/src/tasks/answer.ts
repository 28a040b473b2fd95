import { type IncludeItem, lookUpErrorCode } from 'temporal-file-conversion/contract';
import { z } from 'zod';
import type { TaskError } from '../shared/task-error';
import type { Task } from './task-store';

/** Composes "Task response body". Stored JSON is sent verbatim, so that nothing in it can change. */

export type AnsweredTask = Pick<Task, 'id' | 'endpoint' | 'status' | 'payload'> &
  Partial<Pick<Task, 'result' | 'errorCode' | 'vcredits' | 'createdAt' | 'startedAt' | 'completedAt'>>;

interface AnsweredError {
  readonly code: string;
  readonly message: string;
}

interface ResultParts {
  output?: object;
  error?: AnsweredError;
  warning?: Readonly<Record<string, string>>;
}

export function resultJson({ output = {}, error, warning = {} }: ResultParts): string {
  return JSON.stringify({ output, error: error ? { code: error.code, message: error.message } : {}, warning });
}

/** The answer to a request, or the body of a callback: the items of its `include`, and the error, if any. */
export function responseJson(task: AnsweredTask, include: readonly IncludeItem[]): string {
  const error = task.errorCode == null ? undefined : errorIn(task.result);
  const items = itemsOf(task, include, () => unfinishedResult(include));
  // Clients of the first version read only these keys at 4xx and 5xx; without a result, nothing else reports the error.
  if (error && (statusOf(error.code) >= 400 || !include.includes('result'))) items.push(topLevel(error));
  return `{${items.join(',')}}`;
}

/**
 * The monitored part of an answer to `task/response`. Its result is `null` until the task is completed, because the public clients take
 * anything else for the end of the task, or fail.
 */
export function monitoredJson(task: AnsweredTask, include: readonly IncludeItem[]): string {
  return `{${itemsOf(task, include, () => 'null').join(',')}}`;
}

/** The answer to a refused request that is not a task. */
export function errorJson(error: TaskError): string {
  return `{"result":${resultJson({ error })},${topLevel(error)}}`;
}

export function statusOf(code: string | null | undefined): number {
  return lookUpErrorCode(code ?? '')?.httpStatus ?? 200;
}

const failedResultSchema = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

function errorIn(result: string | null | undefined): AnsweredError | undefined {
  return failedResultSchema.safeParse(JSON.parse(result ?? 'null')).data?.error;
}

/** `YYYY-MM-DD HH:MM:SS`, in UTC. */
export function formatTime(time: number): string {
  const second = Math.floor(time / 1_000);
  if (second !== last.second) {
    const iso = new Date(time).toISOString();
    last = { second, text: `${iso.slice(0, 10)} ${iso.slice(11, 19)}` };
  }
  return last.text;
}

/** The times of a task often fall into one second. */
let last = { second: NaN, text: '' };

function itemsOf(task: AnsweredTask, include: readonly IncludeItem[], unfinished: () => string): string[] {
  const items: string[] = [];
  if (include.includes('entity')) items.push(`"entity":${entityJson(task)}`);
  if (include.includes('payload')) items.push(`"payload":${task.payload}`);
  if (include.includes('result'))
    items.push(`"result":${(task.status === 'completed' ? task.result : undefined) ?? unfinished()}`);
  return items;
}

/** The result in mode async before the end; public clients read all three keys. */
function unfinishedResult(include: readonly IncludeItem[]): string {
  return resultJson({ warning: include.includes('entity') ? {} : { ENTITY_NOT_INCLUDED: entityAdvice } });
}

const entityAdvice =
  'The task runs, and this answer does not tell its ID. Send include: ["entity", "result"] with mode async: entity.id is the connector for task/response.';

function topLevel({ code, message }: AnsweredError): string {
  return `"code":${JSON.stringify(code)},"message":${JSON.stringify(message)}`;
}

function entityJson({ id, endpoint, status, vcredits, createdAt, startedAt, completedAt }: AnsweredTask): string {
  return JSON.stringify({
    id,
    type: 'task',
    endpoint,
    status,
    // Always present, because public clients read it in every state; nothing is consumed before a task has succeeded.
    vcredits: vcredits ?? 0,
    created_at: timeOrNull(createdAt),
    started_at: timeOrNull(startedAt),
    completed_at: timeOrNull(completedAt),
  });
}

function timeOrNull(time: number | null = null): string | null {
  return time === null ? null : formatTime(time);
}
