import { defineSearchAttributeKey, type SearchAttributePair, type TypedSearchAttributes } from '@temporalio/common';
import type { SearchAttributeName } from './search-attribute-types';
import { sourceName, type ConversionJobInput } from './types';

const keyword = (name: SearchAttributeName) => defineSearchAttributeKey(name, 'KEYWORD');

/** Search attributes of jobs, registered by `fileconv namespace init`. Unencrypted: they hold nothing confidential. */
export const searchAttributes = {
  status: keyword('ConversionStatus'),
  app: keyword('ConversionApp'),
  inputFormat: keyword('ConversionInputFormat'),
  outputFormat: keyword('ConversionOutputFormat'),
  taskId: keyword('ConversionTaskId'),
  batchId: keyword('ConversionBatchId'),
  errorCode: keyword('ConversionErrorCode'),
  vcredits: defineSearchAttributeKey('ConversionVCredits' satisfies SearchAttributeName, 'INT'),
  tags: defineSearchAttributeKey('ConversionTags' satisfies SearchAttributeName, 'KEYWORD_LIST'),
};

/** Quotes text for a visibility query, where a backslash escapes. */
export function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}

/** Values of a job's `ConversionStatus`. */
export type ListedStatus = 'running' | 'parked' | 'completed' | 'failed' | 'cancelled';

/**
 * Prefix of `ConversionErrorCode` for every job that may have been charged twice: alone when the job succeeded,
 * otherwise followed by `+` and the failure's code. Query: `ConversionErrorCode STARTS_WITH 'POSSIBLY_CHARGED_TWICE'`.
 */
export const possiblyChargedTwiceCode = 'POSSIBLY_CHARGED_TWICE';

interface ListedWorkflow {
  typedSearchAttributes: TypedSearchAttributes;
}

/** Whether a workflow was started with the attributes, and so may set them. One that the namespace lacks would block it. */
export function isListed({ typedSearchAttributes: own }: ListedWorkflow): boolean {
  return own.get(searchAttributes.app) !== undefined;
}

/** A longer keyword blocks the workflow or, with some databases, the server's list of workflows. */
const maxKeywordLength = 255;

/** Cuts text to the length that the server accepts. */
export function storable(attributes: readonly SearchAttributePair[]): SearchAttributePair[] {
  return attributes.map((pair) => (typeof pair.value === 'string' ? { ...pair, value: cut(pair.value) } : pair));
}

/** Does not cut within a character: half a surrogate pair cannot be stored. */
function cut(text: string): string {
  return text.slice(0, maxKeywordLength).replace(/[\ud800-\udbff]$/, '');
}

/** The value of `ConversionErrorCode`, if any. */
export function listedErrorCode(code: string | undefined, possiblyChargedTwice: boolean): string | undefined {
  if (!possiblyChargedTwice) return code;
  return code === undefined ? possiblyChargedTwiceCode : `${possiblyChargedTwiceCode}+${code}`;
}

export interface Grouping {
  batchId?: string;
  tags?: readonly string[] | undefined;
}

export function startingAttributes(
  input: Pick<ConversionJobInput, 'app' | 'source' | 'input' | 'output'>,
  grouping: Grouping = {},
): SearchAttributePair[] {
  const inputFormat = input.input ?? extensionOf(sourceName(input.source));
  return [
    ...attributesOf(input.app, grouping),
    { key: searchAttributes.outputFormat, value: input.output },
    ...(inputFormat === undefined ? [] : [{ key: searchAttributes.inputFormat, value: inputFormat }]),
  ];
}

/** The attributes of a batch and of every job. */
export function attributesOf(app: string, { batchId, tags = [] }: Grouping): SearchAttributePair[] {
  return [
    { key: searchAttributes.app, value: app },
    { key: searchAttributes.status, value: 'running' },
    ...(batchId === undefined ? [] : [{ key: searchAttributes.batchId, value: batchId }]),
    ...(tags.length === 0 ? [] : [{ key: searchAttributes.tags, value: [...tags] }]),
  ];
}

/** `docx` for `Report.DOCX`. An extension unlike a format may be part of the name, and names are not listed. */
function extensionOf(name: string): string | undefined {
  return /[^.]\.([a-z0-9]{1,10})$/i.exec(name)?.[1]?.toLowerCase();
}
