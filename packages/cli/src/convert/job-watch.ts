import type { ConversionHandle } from 'temporal-file-conversion/internal/client/conversion-handle';
import { readPendingStep } from 'temporal-file-conversion/internal/client/pending-step';

/** What a job does now, in a few words. Asks Temporal alone, so that it works without a worker. */
export async function currentStep(handle: ConversionHandle): Promise<string> {
  const pending = readPendingStep(await handle.describe());
  if (!pending) return 'waiting';
  const { step, attempt, lastFailure } = pending;
  // A poll that is not finished is no news; what keeps a step from working is.
  if (lastFailure === undefined || step === 'converting') return step;
  return `${step} (attempt ${attempt}: ${lastFailure})`;
}
