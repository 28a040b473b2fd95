import { z } from 'zod';
import { includeItems } from '../api/contract';
import { TaskError } from './task-error';

/** The one place that checks what the form field `data` carries ("Data keys"). Unknown keys are left alone. */

const include = z.array(z.enum(includeItems));

const anyTask = {
  app: z.string(),
  include: include.default(['result']),
  mode: z.enum(['sync', 'async']).default('sync'),
  callback: z.string().optional(),
};

const connector = z.guid();
const formatParameter = z.string().min(1);

export const requestSchemas = {
  uploadFile: z.object(anyTask),
  convertFile: z.object({
    ...anyTask,
    connector,
    parameters: z.object({ output: formatParameter, input: formatParameter.optional() }),
  }),
  taskResponse: z.object({
    ...anyTask,
    connector,
    parameters: z.object({ include: include.default([...includeItems]) }).prefault({}),
  }),
  /** Tasks that take nothing but the connector of an earlier task. */
  dependentTask: z.object({ ...anyTask, connector }),
  convertFormats: z.object({
    ...anyTask,
    parameters: z.object({ sublist: z.enum(['inputs', 'outputs']), format: formatParameter.optional() }),
  }),
  formatGet: z.object({ ...anyTask, parameters: z.object({ format: formatParameter }) }),
  convertGraph: z.object({ ...anyTask, parameters: z.object({ input: formatParameter, output: formatParameter }) }),
};

export interface ParsedData<Data> {
  /** The field as it was sent; `payload` gives it back unchanged. */
  readonly raw: string;
  readonly data: Data;
}

/** The checked content of the field `data`; throws the document's error for the first thing that is wrong. */
export function parseRequestData<Schema extends z.ZodType>(
  field: unknown,
  schema: Schema,
): ParsedData<z.output<Schema>> {
  if (field === undefined) throw new TaskError('MISSING_REQUIRED_FIELD', { subject: 'data' });
  if (typeof field !== 'string') throw new TaskError('WRONG_TYPE_FIELD', { subject: 'data' });
  const value = parseJson(field);
  if (!isObject(value)) throw new TaskError('WRONG_TYPE_FIELD', { subject: 'data' });
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw describeIssue(parsed.error.issues, value);
  return { raw: field, data: parsed.data };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new TaskError('INVALID_FIELD', { subject: 'data' });
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function describeIssue(issues: readonly z.core.$ZodIssue[], value: Record<string, unknown>): TaskError {
  const issue = issues[0];
  const [key, parameter] = issue?.path.map(String) ?? [];
  if (!issue || key === undefined) return new TaskError('INVALID_FIELD', { subject: 'data' });
  const isParameter = key === 'parameters' && parameter !== undefined;
  const holder = isParameter && isObject(value['parameters']) ? value['parameters'] : value;
  const subject = isParameter ? parameter : key;
  const kind = isParameter ? 'PARAMETER' : 'DATA_KEY';
  if (!Object.hasOwn(holder, subject)) return new TaskError(`MISSING_REQUIRED_${kind}`, { subject });
  if (issue.code === 'invalid_type') return new TaskError(`WRONG_TYPE_${kind}`, { subject });
  if (issue.code === 'invalid_value') return new TaskError(`WRONG_VALUE_${kind}`, { subject });
  return new TaskError(`INVALID_${kind}`, { subject });
}
