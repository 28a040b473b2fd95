/**
 * What messages and log lines are made of: names from outside made safe for a terminal, counts, sizes and times in words, arguments
 * quoted for a shell, reasons of failed system calls, and secrets masked. Needs no package.
 */
export * from './shared/wording';
export { logLevels } from './shared/log';
export type { Log, LogFields, LoggedError, LogLevel } from './shared/log';
export { systemErrorCode, whyUnreadable } from './shared/system-error';
export { SecretSpellings } from './shared/secret-spellings';
