import { type IncludeItem, includeItems } from 'temporal-file-conversion/contract';
import { z } from 'zod';
import type { ServiceLimits } from '../shared/limits';
import { TaskError } from '../shared/task-error';
import { dataProblem, fieldProblem } from './request-problems';

/** The one place that checks what the form field `data` carries ("Data keys"). */

const include = z.array(z.enum(includeItems));

const anyTask = {
  app: z.string().regex(/^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|free)$/i),
  include: include.default(['result']),
  mode: z.enum(['sync', 'async']).default('sync'),
  callback: z.string().optional(),
};

const connector = z.guid();
const formatParameter = z.string().min(1);
const noParameters = z.strictObject({}).optional();

export const requestSchemas = {
  /** Upload tasks start jobs: no connector. */
  uploadFile: z.strictObject({ ...anyTask, parameters: noParameters }),
  convertFile: z.strictObject({
    ...anyTask,
    connector,
    parameters: z.strictObject({ output: formatParameter, input: formatParameter.optional() }),
  }),
  taskResponse: z.strictObject({
    ...anyTask,
    connector,
    parameters: z.strictObject({ include: include.default([...includeItems]) }).prefault({}),
  }),
  /** Tasks that take nothing but the connector of an earlier task. */
  dependentTask: z.strictObject({ ...anyTask, connector, parameters: noParameters }),
  // The document requires a connector for all tasks but uploads; the public clients send none here, and it is ignored.
  convertFormats: z.strictObject({
    ...anyTask,
    connector: connector.optional(),
    parameters: z.strictObject({ sublist: z.enum(['inputs', 'outputs']), format: formatParameter.optional() }),
  }),
  formatGet: z.strictObject({
    ...anyTask,
    connector: connector.optional(),
    parameters: z.strictObject({ format: formatParameter }),
  }),
  convertGraph: z.strictObject({
    ...anyTask,
    connector: connector.optional(),
    parameters: z.strictObject({ input: formatParameter, output: formatParameter }),
  }),
};

/** The data keys that every task takes. */
export type AnyTaskData = z.output<z.ZodObject<typeof anyTask>>;

const answeringSchema = z.object({
  app: anyTask.app.catch(''),
  include: anyTask.include.catch(['result']),
  mode: anyTask.mode.catch('sync'),
  callback: anyTask.callback.catch(undefined),
}) satisfies z.ZodType<AnyTaskData>;

/** Data that is a JSON object, but not valid. */
export class WrongData extends TaskError {
  constructor(
    problem: TaskError,
    /** The valid ones of the keys that say how to answer. */
    readonly answering: AnyTaskData,
  ) {
    super(problem.code, { message: problem.message });
  }
}

/** The checked content of the field `data`; throws the document's error for the first thing that is wrong. */
export function parseRequestData<Schema extends z.ZodType>(
  field: string,
  schema: Schema,
  { maxDataDepth }: Pick<ServiceLimits, 'maxDataDepth'>,
): z.output<Schema> {
  requireShallow(field, maxDataDepth);
  const value = parseJson(field);
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problem = dataProblem(parsed.error.issues, value);
  const answering = answeringSchema.safeParse(value);
  throw answering.success ? new WrongData(problem, answering.data) : problem;
}

/** What the stored payload of a task asked for with its data key `include`. */
export function includeOf(payload: string): IncludeItem[] {
  return answeringSchema.parse(JSON.parse(payload)).include;
}

/** Checked before parsing, because code that walks parsed JSON recurses for each level. */
function requireShallow(json: string, maxDepth: number): void {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < json.length; at += 1) {
    const character = json[at];
    if (character === '"') inString = !inString;
    else if (inString) at += character === '\\' ? 1 : 0;
    else if (character === '[' || character === '{') depth += 1;
    else if (character === ']' || character === '}') depth -= 1;
    if (depth > maxDepth) {
      const message = `The field data is nested more than ${maxDepth} levels deep.`;
      throw new TaskError('INVALID_FIELD', { message });
    }
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw fieldProblem('unknown', 'data', text === '' ? 'it is empty' : 'it is not JSON');
  }
}
