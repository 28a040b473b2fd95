import { parse, TomlError } from 'smol-toml';
import type { z } from 'zod';

/** The values of a TOML file, or its first problem, in one line: the file, the place or the key, and what is wrong. */
export function checkToml<Schema extends z.ZodType>(
  text: string,
  { file, schema }: { file: string; schema: Schema },
): { values: z.output<Schema> } | { problem: string } {
  let table: unknown;
  try {
    table = parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const reason = error.message.split('\n')[0]?.replace('Invalid TOML document: ', '') ?? 'unreadable';
    return { problem: `${file}:${error.line}:${error.column}: not valid TOML: ${reason}` };
  }
  const parsed = schema.safeParse(table);
  return parsed.success ? { values: parsed.data } : { problem: `${file}: ${describeIssue(parsed.error.issues)}` };
}

/** `apps.billing.vcredits: must be 0 or more`. */
export function describeIssue(issues: readonly z.core.$ZodIssue[]): string {
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

/** Of a union's issues, that of the type that was meant, or else the last. A union without any has a message of its own. */
function deepest(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== 'invalid_union') return issue;
  const complaints = issue.errors.flatMap(([first]) => first ?? []);
  const inner = complaints.find(({ code }) => code !== 'invalid_type') ?? complaints.at(-1);
  return inner ? { ...inner, path: [...issue.path, ...inner.path] } : issue;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
