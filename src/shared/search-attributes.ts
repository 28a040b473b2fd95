import { defineSearchAttributeKey } from '@temporalio/common';
import type { SearchAttributePair } from '@temporalio/common';
import type { ConversionJobInput } from './job';
import { sourceName } from './job';

/** What jobs can be listed by. Never encrypted, so nothing confidential; registered by `fileconv namespace init`. */
export const searchAttributes = {
  status: defineSearchAttributeKey('ConversionStatus', 'KEYWORD'),
  app: defineSearchAttributeKey('ConversionApp', 'KEYWORD'),
  inputFormat: defineSearchAttributeKey('ConversionInputFormat', 'KEYWORD'),
  outputFormat: defineSearchAttributeKey('ConversionOutputFormat', 'KEYWORD'),
  taskId: defineSearchAttributeKey('ConversionTaskId', 'KEYWORD'),
  batchId: defineSearchAttributeKey('ConversionBatchId', 'KEYWORD'),
  errorCode: defineSearchAttributeKey('ConversionErrorCode', 'KEYWORD'),
  vcredits: defineSearchAttributeKey('ConversionVCredits', 'INT'),
};

export const searchAttributeNames: readonly string[] = Object.values(searchAttributes).map(({ name }) => name);

/** Values of `ConversionStatus`. */
export type ListedStatus = 'running' | 'awaitingCredits' | 'completed' | 'failed' | 'cancelled';

/** Name and type, as the Temporal CLI takes them. */
export const searchAttributeTypes: Readonly<Record<string, 'Keyword' | 'Int'>> = Object.fromEntries(
  Object.values(searchAttributes).map(({ name, type }) => [name, type === 'INT' ? 'Int' : 'Keyword'] as const),
);

/**
 * Begins the `ConversionErrorCode` of every job that may have been charged twice, whatever became of it: alone when the job succeeded, else
 * followed by `+` and the failure's code. Found by `ConversionErrorCode STARTS_WITH 'POSSIBLY_CHARGED_TWICE'`.
 */
export const possiblyChargedTwiceCode = 'POSSIBLY_CHARGED_TWICE';

/** Memo of a workflow in a namespace that has other search attributes than those of 0.1: the names of all that it may set. */
const listedByMemo = 'conversionListedBy';

/** Those of 0.1. One that is added later is named by the memo alone: the namespaces of jobs that run then may not have it. */
const usualNames = searchAttributeNames;

/** Names of the search attributes that a workflow may set, by what it was started with: one that its namespace lacks would let it hang. */
export function settableAttributes(workflow: {
  memo?: Readonly<Record<string, unknown>> | undefined;
  typedSearchAttributes: { get(key: typeof searchAttributes.app): string | undefined };
}): ReadonlySet<string> {
  const named = workflow.memo?.[listedByMemo];
  if (Array.isArray(named)) return new Set(named.map(String));
  return new Set(workflow.typedSearchAttributes.get(searchAttributes.app) === undefined ? [] : usualNames);
}

/** What starts a workflow that is listed by all of these that its namespace has, and lets it set the others later. */
export function listingOptions(
  attributes: readonly SearchAttributePair[],
  settable: ReadonlySet<string>,
): { typedSearchAttributes?: SearchAttributePair[]; memo?: Record<string, unknown> } {
  if (settable.size === 0) return {};
  const isUsual = settable.size === usualNames.length && usualNames.every((name) => settable.has(name));
  return {
    typedSearchAttributes: settableOf(attributes, settable),
    ...(!isUsual && { memo: { [listedByMemo]: [...settable] } }),
  };
}

export function settableOf(
  attributes: readonly SearchAttributePair[],
  settable: ReadonlySet<string>,
): SearchAttributePair[] {
  return attributes.filter(({ key }) => settable.has(key.name));
}

/** Memo of a batch's job that has taken over the id of one that did something else: the run that had it before. */
export const runBeforeMemo = 'conversionRunBefore';

/** The value of `ConversionErrorCode`; undefined: none. */
export function listedErrorCode(code: string | undefined, possiblyChargedTwice: boolean): string | undefined {
  if (!possiblyChargedTwice) return code;
  return code === undefined ? possiblyChargedTwiceCode : `${possiblyChargedTwiceCode}+${code}`;
}

/** What a job is listed by from its start on: for whoever starts one, in a namespace that has the attributes. */
export function startingAttributes(
  input: Pick<ConversionJobInput, 'app' | 'source' | 'input' | 'output'>,
  { batchId }: { batchId?: string } = {},
): SearchAttributePair[] {
  const inputFormat = input.input ?? extensionOf(sourceName(input.source));
  return [
    { key: searchAttributes.app, value: input.app },
    { key: searchAttributes.status, value: 'running' },
    { key: searchAttributes.outputFormat, value: input.output },
    ...(inputFormat === undefined ? [] : [{ key: searchAttributes.inputFormat, value: inputFormat }]),
    ...(batchId === undefined ? [] : [{ key: searchAttributes.batchId, value: batchId }]),
  ];
}

/** What a batch is listed by from its start on. */
export function batchAttributes(app: string, batchId: string): SearchAttributePair[] {
  return [
    { key: searchAttributes.app, value: app },
    { key: searchAttributes.status, value: 'running' },
    { key: searchAttributes.batchId, value: batchId },
  ];
}

/** Of `Report.DOCX` it is `docx`. What does not look like a format is part of a name, and names are not listed. */
function extensionOf(name: string): string | undefined {
  return /[^.]\.([a-z0-9]{1,10})$/i.exec(name)?.[1]?.toLowerCase();
}
