import { batchJobsPath, workflowPath } from '../../shared/ui-path';

/** The Temporal UI, and the namespace of the batch. */
export interface TemporalUi {
  /** Base URL, `http:` or `https:`, with the UI's path prefix. */
  url: string;
  namespace: string;
}

/** The page of a workflow; of its latest run if `runId` is absent. */
export function workflowLink({ url, namespace }: TemporalUi, workflowId: string, runId?: string): string {
  return under(url, workflowPath(namespace, workflowId, runId));
}

export function jobsLink({ url, namespace }: TemporalUi, batch: string): string {
  return under(url, batchJobsPath(namespace, batch));
}

/** Only web addresses become links: anything else could be a script. */
export function isWebAddress(url: string): boolean {
  return URL.canParse(url) && ['http:', 'https:'].includes(new URL(url).protocol);
}

function under(url: string, path: string): string {
  const base = new URL(url);
  return `${base.origin}${base.pathname.replace(/\/+$/, '')}${path}`;
}
