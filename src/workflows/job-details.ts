import type { JobPhase } from '../shared/job';
import { shownTime } from '../shared/shown-time';
import { workflowPath } from '../shared/ui-path';

/** What is known of a job when its details are written. Times are milliseconds since the epoch. */
export interface JobDetails {
  workflowId: string;
  namespace: string;
  /** The workflow that started it: a batch, or one of somebody's own. */
  parent: { workflowId: string; namespace: string } | undefined;
  phase: JobPhase;
  since: number;
  /** Default: what every job of this phase waits for. */
  waitsFor: string;
  lastFailure: { code: string; message: string } | undefined;
  taskId: string | undefined;
  possiblyChargedTwice: boolean;
}

const usualWaits: Partial<Record<JobPhase, string>> = {
  uploading: 'Waits for the upload.',
  submitting: 'Waits for the service to accept the conversion.',
  converting: 'Waits for the service to finish the conversion.',
  downloading: 'Waits for the download.',
};

/** What a person who opens a job in the UI wants to know, in markdown. */
export function describeJob(job: JobDetails): string {
  const { workflowId, phase, since, lastFailure, taskId, parent } = job;
  const isOver = phase === 'completed' || phase === 'failed' || phase === 'cancelled';
  const lines = [
    `**${phase}** since ${shownTime(since)} UTC`,
    job.waitsFor === '' ? usualWaits[phase] : job.waitsFor,
    lastFailure && !isOver ? `Last failure: \`${lastFailure.code}\`: ${lastFailure.message}` : undefined,
    isOver ? undefined : 'Next attempt: tab Pending Activities.',
    taskId === undefined ? undefined : `Conversion task \`${taskId}\``,
    job.possiblyChargedTwice
      ? '**Possibly charged twice**: a submit with an unknown outcome was sent again.'
      : undefined,
    parent && `Started by [${parent.workflowId}](${workflowPath(parent.namespace, parent.workflowId)})`,
    `In a terminal: \`fileconv job show ${workflowId}\``,
  ];
  return lines.filter((line) => line !== undefined).join('\n\n');
}
