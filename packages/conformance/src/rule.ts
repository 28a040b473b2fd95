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
type BeyondSource = `page: ${string}` | `client: ${string}` | `inferred: ${string}`;

export type Source = `document: ${string}` | BeyondSource;

/** Resolves when a rule holds; rejects with `RuleBroken`, or with `Undecided` when it could not be seen. */
type Check = (session: Session) => Promise<void>;

/** What else there is to say about a rule. */
export interface About {
  /** The page or public client that it was taken from, when it is not that of the rules around it. */
  readonly source?: BeyondSource;
  /** Other sections that say the same; it is checked once. */
  readonly restatedIn?: readonly Section[];
  /** What the target has to offer for the rule to be checked. */
  readonly needs?: Capability;
}

export interface SectionRule extends About {
  /** The sentence, as it has to hold. */
  readonly rule: string;
  readonly check: Check;
}

/** One sentence that can be checked from outside. */
export interface Rule extends Omit<SectionRule, 'source'> {
  readonly section: Section;
  /** The section of the document, or the page or public client, that it was taken from. */
  readonly source: Source;
}

export function rule(sentence: string, ...more: [check: Check] | [about: About, check: Check]): SectionRule {
  const [about, check] = more.length === 1 ? [{}, more[0]] : more;
  return { rule: sentence, ...about, check };
}

/** Rules of one section of the document. */
export function inSection(section: Section, rules: readonly SectionRule[]): Rule[] {
  return rules.map((each) => ({ section, source: `document: ${section}`, ...each }));
}

/** Rules beside the document; those without a source of their own have the one given. */
export function beyond(section: Section & `Beyond: ${string}`, source: BeyondSource, rules: readonly SectionRule[]) {
  return rules.map((each): Rule => ({ section, source, ...each }));
}
