/**
 * Helpers for messages and log lines: sanitizing, counts, sizes and times in words, shell quoting, reasons of failed system calls, and
 * masking of secrets. Needs no package.
 */
export * from './messages/wording';
export { logLevels } from './messages/log';
export type { Log, LogFields, LoggedError, LogLevel } from './messages/log';
export { systemErrorCode, whyUnreadable } from './messages/system-error';
export { SecretSpellings } from './messages/secret-spellings';
