import { parse, TomlError } from 'smol-toml';
import { whyUnreadable } from 'temporal-file-conversion/messages';
import { readSetting } from 'temporal-file-conversion/storage';
import type { z } from 'zod';
import { inspectError } from './caught';

/** An unusable accounts or faults file; the message is one line that names the file and the key. */
export class SettingsFileError extends Error {
  override readonly name = 'SettingsFileError';
  readonly code = 'SETTINGS_FILE_INVALID';
}

/** The text of a settings file; empty if it is missing, unless it is `required`. @throws SettingsFileError */
export async function readSettingsFile(
  file: string,
  { kind, required }: { kind: 'accounts' | 'faults'; required: boolean },
): Promise<string> {
  try {
    return await readSetting(file);
  } catch (error) {
    const isMissing = inspectError(error).code === 'ENOENT';
    if (isMissing && !required) return '';
    const reason = isMissing
      ? `there is no such ${kind} file`
      : `the ${kind} file cannot be read: ${whyUnreadable(error)}`;
    throw new SettingsFileError(`${file}: ${reason}`, { cause: error });
  }
}

/** The values of a TOML file. @throws SettingsFileError with the first problem: the file, the place or the key, and what is wrong. */
export function checkToml<Schema extends z.ZodType>(
  text: string,
  { file, schema }: { file: string; schema: Schema },
): z.output<Schema> {
  let table: unknown;
  try {
    table = parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const reason = error.message.split('\n')[0]?.replace('Invalid TOML document: ', '') ?? 'unreadable';
    throw new SettingsFileError(`${file}:${error.line}:${error.column}: not valid TOML: ${reason}`);
  }
  return checkSections(table, { origin: file, schema });
}

export function checkSections<Schema extends z.ZodType>(
  values: unknown,
  { origin, schema }: { origin: string; schema: Schema },
): z.output<Schema> {
  const parsed = schema.safeParse(values);
  if (parsed.success) return parsed.data;
  throw new SettingsFileError(`${origin}: ${describeIssue(parsed.error.issues)}`);
}

/** For example `apps.billing.vcredits: must be 0 or more`. */
function describeIssue(issues: readonly z.core.$ZodIssue[]): string {
  const issue = issues[0] && deepest(issues[0]);
  if (!issue) return 'unusable';
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') return `${[...path, issue.keys[0]].join('.')}: there is no such key`;
  const inKey = issue.code === 'invalid_key' ? issue.issues[0]?.message : undefined;
  return `${path.join('.')}: ${inKey ?? typeProblem(issue) ?? lowerFirst(issue.message)}`;
}

const tomlTypes: Readonly<Record<string, string>> = {
  object: 'a table',
  record: 'a table',
  array: 'a list',
  string: 'a text',
  boolean: 'true or false',
  number: 'a number',
};

/** A wrong type in TOML's terms, unless the schema has a message of its own. */
function typeProblem(issue: z.core.$ZodIssue): string | undefined {
  if (issue.code !== 'invalid_type' || !issue.message.startsWith('Invalid input')) return undefined;
  const type = tomlTypes[issue.expected];
  return type && `must be ${type}`;
}

/** Of a union's issues, the first of the intended type, or else the last. A union without any has its own message. */
function deepest(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== 'invalid_union') return issue;
  const complaints = issue.errors.flatMap(([first]) => first ?? []);
  const inner = complaints.find(({ code }) => code !== 'invalid_type') ?? complaints.at(-1);
  return inner ? { ...inner, path: [...issue.path, ...inner.path] } : issue;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
