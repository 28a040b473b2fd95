import { type IncludeItem, includeItems, type KnownErrorCode } from 'temporal-file-conversion/contract';
import { z } from 'zod';
import { type Parameters, engineParameters } from '../engines/conversion';
import { type ServiceLimits, showBytes } from '../shared/limits';
import { TaskError } from '../shared/task-error';

/** The only place that checks the form field `data` ("Data keys"). */

const include = z.array(z.enum(includeItems));

const anyTask = {
  app: z.string().regex(/^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|free)$/i),
  include: include.default(['result']),
  mode: z.enum(['sync', 'async']).default('sync'),
  callback: z.string().optional(),
};

const connector = z.guid().toLowerCase();
const formatParameter = z.string().min(1);
const noParameters = z.strictObject({}).optional();

export const requestSchemas = {
  /** Upload tasks start jobs: no connector. */
  uploadFile: z.strictObject({ ...anyTask, parameters: noParameters }),
  convertFile: z.strictObject({
    ...anyTask,
    connector,
    parameters: z.strictObject({
      output: formatParameter,
      input: formatParameter.optional(),
      ...engineParameters.shape,
    }),
  }),
  taskResponse: z.strictObject({
    ...anyTask,
    connector,
    parameters: z.strictObject({ include: include.default([...includeItems]) }).prefault({}),
  }),
  /** Tasks that take only the connector of an earlier task. */
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

export type AnyTaskData = z.output<z.ZodObject<typeof anyTask>>;

const answeringSchema = z.object({
  app: anyTask.app.catch(''),
  include: anyTask.include.catch(['result']),
  mode: anyTask.mode.catch('sync'),
  callback: anyTask.callback.catch(undefined),
}) satisfies z.ZodType<AnyTaskData>;

/** Reads how to answer from data that may be invalid; undefined if it is not a JSON object. */
export function answeringOf(data: unknown): AnyTaskData | undefined {
  return answeringSchema.safeParse(data).data;
}

/** The JSON of the field `data`, not yet checked. */
export function parseDataField(field: string, { maxDataDepth }: Pick<ServiceLimits, 'maxDataDepth'>): unknown {
  requireShallow(field, maxDataDepth);
  try {
    return JSON.parse(field);
  } catch {
    throw fieldProblem('unknown', 'data', field === '' ? 'it is empty' : 'it is not JSON');
  }
}

/** @throws TaskError with the document's code for the first mistake. */
export function checkData<Schema extends z.ZodType>(data: unknown, schema: Schema): z.output<Schema> {
  const parsed = schema.safeParse(data);
  if (parsed.success) return parsed.data;
  throw dataProblem(parsed.error.issues, data);
}

/** The data key `include` in the stored payload of a task. */
export function includeOf(payload: string): IncludeItem[] {
  return answeringSchema.parse(JSON.parse(payload)).include;
}

/** The parameters in the stored payload of a conversion, besides its formats. */
export function parametersOf(payload: string): Parameters {
  return z.object({ parameters: engineParameters }).parse(JSON.parse(payload)).parameters;
}

const [quote, backslash, openBracket, openBrace, closeBracket, closeBrace] = Buffer.from('"\\[{]}');

/** Checked before parsing, because code that walks parsed JSON recurses for each level. */
function requireShallow(json: string, maxDepth: number): void {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < json.length; at += 1) {
    const character = json.charCodeAt(at);
    if (character === quote) inString = !inString;
    else if (inString) at += character === backslash ? 1 : 0;
    else if (character === openBracket || character === openBrace) depth += 1;
    else if (character === closeBracket || character === closeBrace) depth -= 1;
    if (depth > maxDepth) {
      const message = `The field data is nested more than ${maxDepth} levels deep.`;
      throw new TaskError('INVALID_FIELD', { message });
    }
  }
}

/**
 * The error code for each kind of mistake in a request. The document names the codes and leaves open which mistake gets which; this
 * table decides that, for every endpoint alike:
 *
 * | Mistake | Examples |
 * |---|---|
 * | missing | no field `data`; no `app`; no `connector` where a task depends on one; no `parameters.output` |
 * | unknown | a field beside `data` (and `file`); a data key or parameter that the endpoint does not take, so also a `connector` sent to `upload/file`. A field that cannot be read: `data` that is no JSON, a form that is cut off |
 * | wrongType | `data` that is JSON but no object, sent twice, or sent as a file; `file` sent as text; a number where a string belongs, in a list too; `null` |
 * | wrongValue | `app` or `connector` that is no UUID; `mode: "later"`; `include: ["everything"]`; an empty format name |
 *
 * Fields are checked first, then data keys and parameters in the order of the schema, unknown ones last; then the app
 * (INVALID_CREDENTIAL), the callback, and the requirements of the endpoint itself.
 */
const codes = {
  missing: {
    field: 'MISSING_REQUIRED_FIELD',
    dataKey: 'MISSING_REQUIRED_DATA_KEY',
    parameter: 'MISSING_REQUIRED_PARAMETER',
  },
  unknown: { field: 'INVALID_FIELD', dataKey: 'INVALID_DATA_KEY', parameter: 'INVALID_PARAMETER' },
  wrongType: { field: 'WRONG_TYPE_FIELD', dataKey: 'WRONG_TYPE_DATA_KEY', parameter: 'WRONG_TYPE_PARAMETER' },
  wrongValue: { field: 'INVALID_FIELD', dataKey: 'WRONG_VALUE_DATA_KEY', parameter: 'WRONG_VALUE_PARAMETER' },
} as const satisfies Record<string, Record<Place, KnownErrorCode>>;

type Mistake = keyof typeof codes;
type Place = 'field' | 'dataKey' | 'parameter';

/** A problem with the form field of this name; `reason` says what, if the name alone does not. */
export function fieldProblem(mistake: Mistake, name: string, reason?: string): TaskError {
  return problem(mistake, 'field', name, reason);
}

export function unreadableForm(reason: string): TaskError {
  return fieldProblem('unknown', 'data', `the form could not be read, ${reason}`);
}

export function tooMuchData(maxDataBytes: number): TaskError {
  return fieldProblem('unknown', 'data', `it is larger than ${showBytes(maxDataBytes)}`);
}

export function tooManyFields(maxFormFields: number): TaskError {
  return new TaskError('INVALID_FIELD', { message: `The form has more than ${maxFormFields} fields.` });
}

/** The document's error for the first issue that a schema has found in the field `data`. */
function dataProblem(issues: readonly z.core.$ZodIssue[], data: unknown): TaskError {
  const [issue] = issues;
  if (!issue) return fieldProblem('unknown', 'data', 'it could not be read');
  if (issue.code === 'unrecognized_keys') {
    return problem('unknown', issue.path.length === 0 ? 'dataKey' : 'parameter', issue.keys[0] ?? '');
  }
  const [key, parameter] = issue.path.map(String);
  if (key === undefined) return fieldProblem('wrongType', 'data');
  const isParameter = key === 'parameters' && parameter !== undefined;
  const holder = isParameter ? valueAt(data, key) : data;
  const name = isParameter ? parameter : key;
  const mistake = valueAt(holder, name) === undefined ? 'missing' : mistakeOf(issue, data);
  return problem(mistake, isParameter ? 'parameter' : 'dataKey', name);
}

function mistakeOf({ code, path }: z.core.$ZodIssue, data: unknown): Mistake {
  if (code === 'invalid_type') return 'wrongType';
  // All allowed values are strings, so any other type is the mistake.
  const value = path.reduce<unknown>((holder, key) => valueAt(holder, String(key)), data);
  return code === 'invalid_value' && typeof value !== 'string' ? 'wrongType' : 'wrongValue';
}

function problem(mistake: Mistake, place: Place, name: string, reason?: string): TaskError {
  return new TaskError(codes[mistake][place], { subject: printable(name), reason });
}

function valueAt(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return Object.entries(value).find(([name]) => name === key)?.[1];
}

/** Makes a name from outside fit for a message: short, on one line and never empty. */
function printable(name: string): string {
  const shown = name.replace(/\p{C}/gu, '?');
  if (shown === '') return '(without a name)';
  return shown.length > 100 ? `${shown.slice(0, 97)}...` : shown;
}
