import { defineSearchAttributeKey } from '@temporalio/common';

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

/** Name and type, as the Temporal CLI takes them. */
export const searchAttributeTypes: Readonly<Record<string, 'Keyword' | 'Int'>> = Object.fromEntries(
  Object.values(searchAttributes).map(({ name, type }) => [name, type === 'INT' ? 'Int' : 'Keyword'] as const),
);
