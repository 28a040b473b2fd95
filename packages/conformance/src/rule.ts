import type { Session } from './session';
import type { Capability } from './target';

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

/** A fact of the pages around the document, or what a public client does or needs; `inferred` is a conclusion from those. */
export type BeyondSource = `page: ${string}` | `client: ${string}` | `inferred: ${string}`;

export type Source = `document: ${string}` | BeyondSource;

/** One sentence that can be checked from outside. */
export interface Rule {
  readonly section: Section;
  /** The section of the document, or the page or public client, that it was taken from. */
  readonly source: Source;
  /** The sentence, as it has to hold. */
  readonly rule: string;
  /** Other sections that say the same; it is checked once. */
  readonly restatedIn?: readonly Section[];
  /** What the target has to offer for the rule to be checked. */
  readonly needs?: Capability;
  /** Resolves when the rule holds; rejects with `RuleBroken`, or with `Undecided` when it could not be seen. */
  check(session: Session): Promise<void>;
}

/** Rules of one section of the document. */
export function inSection(section: Section, rules: readonly SectionRule[]): Rule[] {
  return rules.map((rule) => ({ section, source: `document: ${section}`, ...rule }));
}

/** Rules beside the document; those without a source of their own have the one given. */
export function beyond(section: `Beyond: ${string}` & Section, source: BeyondSource, rules: readonly BeyondRule[]) {
  return rules.map((rule): Rule => ({ section, source, ...rule }));
}

export type SectionRule = Omit<Rule, 'section' | 'source'>;
export type BeyondRule = SectionRule & { readonly source?: BeyondSource };
