import type { ConversionApi } from '../api/conversion-api';
import type { CreditsWatch } from './credits-watch';
import type { FileStore } from '../storage/file-store';

/** What the activities work with; a worker injects the real ones, a test may inject others. */
export interface ActivityDependencies {
  /**
   * The document's client for an app profile. The token lives behind it and never enters a workflow.
   * @throws UnknownAppError when the worker has no such profile.
   */
  api: (app: string) => Promise<ConversionApi>;
  files: FileStore;
  /** Shared by all activities of a worker. */
  credits: CreditsWatch;
}

/** A job names an app profile that this worker does not have. */
export class UnknownAppError extends Error {
  override readonly name = 'UnknownAppError';
}
