/** The document: its endpoints and what they answer as zod schemas, its error codes, and how long it says to wait. */
export * from './endpoints';
export * from './error-codes';
export * from './retry-after';
