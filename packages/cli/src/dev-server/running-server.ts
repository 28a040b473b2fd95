/** A Temporal server that runs on this machine, started or adopted by this process. */
export interface RunningTemporalServer {
  /** Where clients and workers connect: `127.0.0.1:7233`. */
  readonly address: string;
  /** The Temporal UI; absent when it was switched off. */
  readonly uiUrl?: string;
  readonly pid: number;
  /** Ends the server by its process id and waits until it has ended. A second call changes nothing. */
  stop(): Promise<void>;
  /** Resolves, never rejects, when the server has ended, whoever ended it. */
  readonly exited: Promise<ServerExit>;
}

export interface ServerExit {
  /** `null` when a signal ended it, or when it was adopted: only a parent learns the code. */
  code: number | null;
  signal: NodeJS.Signals | null;
  /** `true` when `stop()` was called before. */
  expected: boolean;
}

/** The server closes its database within about a second (measured: 1.1 s); a busy machine gets more. */
export const stopGraceMs = 10_000;
