import type { Reply } from './reply';
import type { Session } from './session';
import { ensureError } from './verdict';

/** The sections of the document, in its order, then the topics that only the pages around it cover. */
export const sections = [
  'Task request body',
  'Data keys',
  'Task response body',
  'Entity keys',
  'Result keys',
  'Output of convert-file',
  'States',
  'Endpoints',
  'convert/file',
  'task/response',
  'Authentication',
  'Events',
  'Errors',
  'Limits',
  'Versioning',
  'Beyond: requests',
  'Beyond: upload/file',
  'Beyond: convert/file',
  'Beyond: task/response',
  'Beyond: download',
  'Beyond: formats',
  'Beyond: authentication',
  'Beyond: callbacks',
] as const;

export type Section = (typeof sections)[number];

/** Where a rule comes from: the document, the pages around it, what a public client does or needs, or a conclusion from those. */
export type Source = `${'document' | 'page' | 'client' | 'inferred'}: ${string}`;

/** Resolves if a rule holds; rejects with `RuleBroken`, or with `Undecided` if it could not be observed. */
export type Check = (session: Session) => Promise<void>;

/** Rules by their sentences, which state what has to hold. */
export type Checks = Readonly<Record<string, Check | (Partial<Rule> & Pick<Rule, 'check'>)>>;

/** One sentence that can be checked from outside. */
export interface Rule {
  readonly section: Section;
  readonly rule: string;
  /** The section of the document, or the page or public client, that it was taken from. */
  readonly source: Source;
  readonly check: Check;
}

/** Rules with another source than the rules around them. */
export function from(source: Source, checks: Readonly<Record<string, Check>>): Checks {
  return Object.fromEntries(Object.entries(checks).map(([sentence, check]) => [sentence, { source, check }]));
}

/** Rules of one section of the document. */
export function inSection(section: Section, checks: Checks): Rule[] {
  return beyond(section, `document: ${section}`, checks);
}

/** Rules beyond the document; `source` is that of rules without their own. */
export function beyond(section: Section, source: Source, checks: Checks): Rule[] {
  return Object.entries(checks).map(([rule, given]) => {
    const more = typeof given === 'function' ? { check: given } : given;
    return { section, source, rule, ...more };
  });
}

export type Send = (session: Session, value: unknown) => Promise<Reply>;

/** Checks that each of these values is refused with one of the codes before it. */
export function refuses(
  what: string,
  send: Send,
  ...cases: readonly (readonly [codes: readonly string[], ...values: unknown[]])[]
): Check {
  return async (session) => {
    for (const [codes, ...values] of cases) {
      for (const value of values) ensureError(await send(session, value), codes, `${what} ${JSON.stringify(value)}`);
    }
  };
}
