import type { ConversionApi } from '../http/conversion-api';
import type { CallbackSubmission } from '../shared/job';
import type { Stores } from '../storage/stores';
import type { AppSlots, WaitSlots } from './app-slots';
import type { ConversionTimes } from './conversion-times';
import type { CreditsWatch } from './credits-watch';
import type { WorkerMetrics } from './worker-metrics';

/** Dependencies of the activities; a worker injects the real ones, a test may inject others. */
export interface ActivityDependencies {
  /**
   * The document's client for an app profile. It holds the token, which never enters a workflow.
   * @throws UnknownAppError when the worker has no such profile.
   */
  api: (app: string) => ConversionApi;
  files: Stores;
  /** Default: no metrics. */
  metrics?: WorkerMetrics | undefined;
  /** Default: slots are not shared out. */
  slots?: AppSlots | undefined;
  credits: CreditsWatch;
  times: ConversionTimes;
  /** `credits`, `times` and `waits` are shared by all activities of a worker. */
  waits: WaitSlots;
  /** Callback URL for a submit of this app; undefined: no callback, the job polls. */
  callbackUrl?: ((app: string, submission: CallbackSubmission) => string | undefined) | undefined;
}
