import type { ConversionApi } from '../api/conversion-api';
import type { CallbackSubmission } from '../shared/callback';
import type { FileStore } from '../storage/file-store';
import type { AppSlots, WaitSlots } from './app-slots';
import type { ConversionTimes } from './conversion-times';
import type { CreditsWatch } from './credits-watch';
import type { WorkerMetrics } from './worker-metrics';

/** What the activities work with; a worker injects the real ones, a test may inject others. */
export interface ActivityDependencies {
  /**
   * The document's client for an app profile. The token lives behind it and never enters a workflow.
   * @throws UnknownAppError when the worker has no such profile.
   */
  api: (app: string) => Promise<ConversionApi>;
  files: FileStore;
  /** Default: nobody counts. */
  metrics?: WorkerMetrics | undefined;
  /** Default: whoever comes first has a slot. */
  slots?: AppSlots | undefined;
  /** Shared by all activities of a worker. */
  credits: CreditsWatch;
  /** Shared by all activities of a worker. */
  times: ConversionTimes;
  /** Shared by all activities of a worker. */
  waits: WaitSlots;
  /** Where the service is to call back for a submit of this app; undefined: nowhere, and the job polls. */
  callbackUrl?: ((app: string, submission: CallbackSubmission) => string | undefined) | undefined;
}
