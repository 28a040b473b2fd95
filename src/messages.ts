/**
 * What messages and log lines are made of: names from outside made safe for a terminal, counts, sizes and times in words, arguments
 * quoted for a shell, reasons of failed system calls, and secrets masked. Needs no package.
 */
export * from './messages/wording';
export { logLevels } from './messages/log';
export type { Log, LogFields, LoggedError, LogLevel } from './messages/log';
export { systemErrorCode, whyUnreadable } from './messages/system-error';
export { SecretSpellings } from './messages/secret-spellings';
