/** What a shell sees. */
export const exitCodes = {
  ok: 0,
  /** Something could not be done. */
  failed: 1,
  /** The command, its arguments, its input or the configuration is wrong; nothing was started. */
  usage: 2,
  /** Of `fileconv batch`, where 1 means that files failed: the command could not do its work. */
  couldNotRun: 3,
  /** Ended by Ctrl-C. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
