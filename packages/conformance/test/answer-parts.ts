import { isObject } from 'temporal-file-conversion/contract';
import type { Alteration, Answer } from './altering-proxy';

/** The object under these keys, for changes in place; a new, unconnected object if there is none. */
export function part(holder: Record<string, unknown> | undefined, ...keys: string[]): Record<string, unknown> {
  let found: unknown = holder;
  for (const key of keys) found = isObject(found) ? found[key] : undefined;
  return isObject(found) ? found : {};
}

export const errorOf = ({ json }: Pick<Answer, 'json'>): Record<string, unknown> => part(json, 'result', 'error');

/** The monitored task in an answer of task/response. */
export const monitored = ({ json }: Answer): Record<string, unknown> => part(json, 'result', 'output');

export const isEmpty = (value: Record<string, unknown>): boolean => Object.keys(value).length === 0;

export function onError(code: string, alter: Alteration): Alteration {
  return (answer) => {
    if (errorOf(answer)['code'] === code) alter(answer);
  };
}

export function setCode(answer: Answer, code: string): void {
  const error = { code, message: 'Altered.' };
  answer.json = { result: { output: {}, error, warning: {} }, ...error };
  if (answer.status < 400) answer.status = 400;
}
