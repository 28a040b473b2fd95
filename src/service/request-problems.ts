import type { z } from 'zod';
import type { KnownErrorCode } from '../api/error-codes';
import { TaskError } from './task-error';

/**
 * Which code of the document says what is wrong with a request. The document names the codes and leaves open which mistake
 * gets which; this table decides it, for every endpoint alike:
 *
 * | Mistake | Examples |
 * |---|---|
 * | missing | no field `data`; no `app`; no `connector` where a task depends on one; no `parameters.output` |
 * | unknown | a field beside `data` (and `file`); a data key or parameter that the endpoint does not take, so also a `connector` sent to `upload/file`. A field that cannot be read: `data` that is no JSON, a form that is cut off |
 * | wrongType | `data` that is JSON but no object, sent twice, or sent as a file; `file` sent as text; a number where a string belongs; `null` |
 * | wrongValue | `app` or `connector` that is no UUID; `mode: "later"`; `include: ["everything"]`; an empty format name |
 *
 * Fields are looked at first, then data keys and parameters in the order of the schema, unknown ones last. After that come
 * the app (INVALID_CREDENTIAL), the callback, and what the endpoint itself asks for.
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

/** Something is wrong with the form field of this name. */
export function fieldProblem(mistake: Mistake, name: string): TaskError {
  return problem(mistake, 'field', name);
}

/** The document's error for the first thing that a schema has found wrong with the content of the field `data`. */
export function dataProblem(issues: readonly z.core.$ZodIssue[], data: unknown): TaskError {
  const [issue] = issues;
  if (!issue) return fieldProblem('unknown', 'data');
  if (issue.code === 'unrecognized_keys') {
    return problem('unknown', issue.path.length === 0 ? 'dataKey' : 'parameter', issue.keys[0] ?? '');
  }
  const [key, parameter] = issue.path.map(String);
  if (key === undefined) return fieldProblem('wrongType', 'data');
  const isParameter = key === 'parameters' && parameter !== undefined;
  const holder = isParameter ? valueAt(data, key) : data;
  const name = isParameter ? parameter : key;
  return problem(mistakeOf(issue, valueAt(holder, name)), isParameter ? 'parameter' : 'dataKey', name);
}

function mistakeOf(issue: z.core.$ZodIssue, value: unknown): Mistake {
  if (value === undefined) return 'missing';
  return issue.code === 'invalid_type' ? 'wrongType' : 'wrongValue';
}

function problem(mistake: Mistake, place: Place, name: string): TaskError {
  return new TaskError(codes[mistake][place], { subject: printable(name) });
}

function valueAt(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return Object.entries(value).find(([name]) => name === key)?.[1];
}

/** Names come from outside and end up in a message: short, in one line, and never empty. */
function printable(name: string): string {
  const shown = name.replace(/\p{C}/gu, '?');
  if (shown === '') return '(without a name)';
  return shown.length > 100 ? `${shown.slice(0, 97)}...` : shown;
}
