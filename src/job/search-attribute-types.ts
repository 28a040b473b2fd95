/** Types of the search attributes by name, as the Temporal CLI expects them. Loads nothing, since a command starts Temporal with them. */
const types = {
  ConversionStatus: 'Keyword',
  ConversionApp: 'Keyword',
  ConversionInputFormat: 'Keyword',
  ConversionOutputFormat: 'Keyword',
  ConversionTaskId: 'Keyword',
  ConversionBatchId: 'Keyword',
  ConversionErrorCode: 'Keyword',
  ConversionVCredits: 'Int',
  ConversionTags: 'KeywordList',
} as const;

export type SearchAttributeName = keyof typeof types;

export const searchAttributeTypes: Readonly<Record<string, 'Keyword' | 'Int' | 'KeywordList'>> = types;

export const searchAttributeNames: readonly string[] = Object.keys(types);
