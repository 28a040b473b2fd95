import { batchJobsPath, workflowPath } from '../../shared/ui-path';

/** The Temporal UI, and the namespace of the batch. */
export interface TemporalUi {
  /** Base URL, `http:` or `https:`, with the path that the UI is served under. */
  url: string;
  namespace: string;
}

/** The page of a workflow; of its latest run when `runId` is absent. */
export function workflowLink({ url, namespace }: TemporalUi, workflowId: string, runId?: string): string {
  return under(url, workflowPath(namespace, workflowId, runId));
}

/** The list of a batch's jobs. */
export function jobsLink({ url, namespace }: TemporalUi, batch: string): string {
  return under(url, batchJobsPath(namespace, batch));
}

/** Anything but a web address becomes no link: it could be a script. */
export function isWebAddress(url: string): boolean {
  return URL.canParse(url) && ['http:', 'https:'].includes(new URL(url).protocol);
}

function under(url: string, path: string): string {
  const base = new URL(url);
  return `${base.origin}${base.pathname.replace(/\/+$/, '')}${path}`;
}
