import type { ConversionHandle } from '../../client/conversion-handle';
import { activityNames } from '../../shared/names';

const phaseOf: Readonly<Record<string, string>> = {
  [activityNames.uploadFile]: 'uploading',
  [activityNames.convertFile]: 'submitting',
  [activityNames.checkTask]: 'converting',
  [activityNames.downloadFile]: 'downloading',
  [activityNames.discardDownload]: 'cleaning up',
};

/** What a job does now, in a few words. Asks Temporal alone, so that it works without a worker. */
export async function currentStep(handle: ConversionHandle): Promise<string> {
  const { raw } = await handle.describe();
  const activity = raw.pendingActivities?.[0];
  if (!activity) return 'waiting';
  const phase = phaseOf[activity.activityType?.name ?? ''] ?? 'working';
  const failure = activity.lastFailure?.message;
  // A poll that is not finished is no news; what keeps a step from working is.
  if (!failure || phase === 'converting') return phase;
  return `${phase} (attempt ${activity.attempt ?? 1}: ${failure})`;
}
