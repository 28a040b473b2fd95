import type { ConversionMode, OnExisting, OnUnknownOutcome } from 'temporal-file-conversion/internal/shared/job';

/** Options of `batch run`, as they are typed. */
export interface RunFlags {
  to?: string;
  from?: string;
  out?: string;
  name?: string;
  manifest?: string;
  recursive?: boolean;
  exclude: string[];
  modifiedSince?: Date;
  filesFrom?: string;
  template?: string;
  window?: number;
  stopAfter?: { failures?: number; percent?: number };
  onExisting?: OnExisting;
  onUnknownOutcome?: OnUnknownOutcome;
  resubmit?: boolean;
  mode?: ConversionMode;
  app?: string;
  dryRun?: boolean;
}
