import type { ConversionMode, OnExisting, OnUnknownOutcome } from 'temporal-file-conversion/internal/shared/job';

/** Options of `convert`, as they are typed. */
export interface ConvertFlags {
  to: string;
  from?: string;
  out?: string;
  onExisting?: OnExisting;
  onUnknownOutcome?: OnUnknownOutcome;
  mode?: ConversionMode;
  app?: string;
  parallel: number;
}
