import type { OutputFile } from 'temporal-file-conversion/internal/shared/job';

/** How one file ended; part of `--json`. */
export interface FileOutcome {
  /** As it was typed. */
  file: string;
  /** `unfinished`: the job was started and goes on without the command. `notStarted`: the command was interrupted before. */
  status: 'converted' | 'skipped' | 'failed' | 'unfinished' | 'notStarted';
  workflowId?: string;
  output?: OutputFile & { path: string };
  /** From the start of the job until its end, or until the command's. */
  seconds: number;
  possiblyChargedTwice?: boolean;
  /** The service's warnings: name, and how to resolve it. */
  warnings?: Record<string, string>;
  error?: { code: string; message: string };
}
