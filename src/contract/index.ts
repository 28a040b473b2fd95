/** The document's endpoints and responses as zod schemas, its error codes, and its wait times. */
export * from './endpoints';
export * from './error-codes';
export * from './retry-after';
