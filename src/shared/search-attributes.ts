import { defineSearchAttributeKey, type SearchAttributePair } from '@temporalio/common';
import { sourceName, type ConversionJobInput } from './job';

/** Search attributes of jobs, registered by `fileconv namespace init`. Unencrypted: they hold nothing confidential. */
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

/** Types as the Temporal CLI takes them, by name. */
export const searchAttributeTypes: Readonly<Record<string, 'Keyword' | 'Int'>> = Object.fromEntries(
  Object.values(searchAttributes).map(({ name, type }) => [name, type === 'INT' ? 'Int' : 'Keyword'] as const),
);

/**
 * Prefix of `ConversionErrorCode` for every job that may have been charged twice: alone when the job succeeded,
 * otherwise followed by `+` and the failure's code. Query: `ConversionErrorCode STARTS_WITH 'POSSIBLY_CHARGED_TWICE'`.
 */
export const possiblyChargedTwiceCode = 'POSSIBLY_CHARGED_TWICE';

/** Memo for a namespace whose search attributes differ from those of 0.1: the names that the workflow may set. */
const listedByMemo = 'conversionListedBy';

/** Those of 0.1. Later ones are only named in the memo, because namespaces of running jobs may lack them. */
const usualNames = searchAttributeNames;

/** The attributes that a workflow may set, by its start options: one that the namespace lacks would block it. */
export function settableAttributes(workflow: {
  memo?: Readonly<Record<string, unknown>> | undefined;
  typedSearchAttributes: { get(key: typeof searchAttributes.app): string | undefined };
}): ReadonlySet<string> {
  const named = workflow.memo?.[listedByMemo];
  if (Array.isArray(named)) return new Set(named.map(String));
  return new Set(workflow.typedSearchAttributes.get(searchAttributes.app) === undefined ? [] : usualNames);
}

/** Start options that set those of the attributes the namespace has, and let the workflow set the others later. */
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

/** Memo of a batch's job: the previous run under its id, which was another job's or an earlier one of its row. */
export const runBeforeMemo = 'conversionRunBefore';

/** The value of `ConversionErrorCode`; undefined: none. */
export function listedErrorCode(code: string | undefined, possiblyChargedTwice: boolean): string | undefined {
  if (!possiblyChargedTwice) return code;
  return code === undefined ? possiblyChargedTwiceCode : `${possiblyChargedTwiceCode}+${code}`;
}

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

export function batchAttributes(app: string, batchId: string): SearchAttributePair[] {
  return [
    { key: searchAttributes.app, value: app },
    { key: searchAttributes.status, value: 'running' },
    { key: searchAttributes.batchId, value: batchId },
  ];
}

/** `docx` for `Report.DOCX`. Anything that is not like a format may be part of a name, and names are not listed. */
function extensionOf(name: string): string | undefined {
  return /[^.]\.([a-z0-9]{1,10})$/i.exec(name)?.[1]?.toLowerCase();
}
