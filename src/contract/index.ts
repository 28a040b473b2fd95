/** The document's endpoints and responses as zod schemas, its error codes and wait times. */
export * from './endpoints';
export * from './error-codes';
export { isObject } from './json';
export * from './retry-after';
