import type { Session } from './session';
import type { Capability } from './target';

/** The sections of the document, in its order, and after them the topics that only the pages around it tell. */
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

/** One sentence of the document that can be checked from outside. */
export interface Rule {
  readonly section: Section;
  /** The sentence, as it has to hold. */
  readonly rule: string;
  /** Other sections that say the same; it is checked once. */
  readonly restatedIn?: readonly Section[];
  /** What the target has to offer for the rule to be checked. */
  readonly needs?: Capability;
  /** Resolves when the rule holds; rejects with `RuleBroken`, or with `Undecided` when it could not be seen. */
  check(session: Session): Promise<void>;
}

/** A fact of the pages around the document, which the document itself leaves open. */
export function isBeyond({ section }: Rule): boolean {
  return section.startsWith('Beyond:');
}

/** Rules of one section. */
export function inSection(section: Section, rules: readonly Omit<Rule, 'section'>[]): Rule[] {
  return rules.map((rule) => ({ section, ...rule }));
}
