import { getExternalWorkflowHandle, workflowInfo } from '@temporalio/workflow';
import { failureCodes, type StepSkipped } from '../../job/activities';
import type { ItemUploaded } from '../../batch/model/types';
import { defined } from '../../job/defined';
import type { SharedUpload } from '../../job/types';
import { conversionItemUploadedSignal } from '../../job/names';
import { runStep, type JobParts } from './job-parts';

export interface Uploaded {
  skipped?: false;
  connector: string;
  /** Absent when the job was given a connector. */
  bytes?: number;
}

/** A lost upload is repeated once: a second loss must have another cause. */
const uploadsAtMost = 2;

export class SourceUpload {
  private left = uploadsAtMost;
  private isGivenTried = false;

  constructor(private readonly job: JobParts) {}

  get isRepeatable(): boolean {
    return this.left > 0 && 'uri' in this.job.input.source;
  }

  /** Resets the limit: an upload that expires while the job is parked is not the service's fault. */
  resetLimit(): void {
    this.left = uploadsAtMost;
  }

  /** For a job that turned out to have an earlier task to fetch, which its batch could not know. */
  notNeeded(): void {
    const { recall, announcesUpload } = this.job.input;
    if (recall && announcesUpload) notifyBatch();
  }

  async run(): Promise<Uploaded | StepSkipped> {
    const { input, policies, progress, activities, host, replaces, checking } = this.job;
    const { app, source, output, destination } = input;
    if ('connector' in source) return source;
    const given = this.isGivenTried ? undefined : input.upload;
    this.isGivenTried = true;
    if (!given) this.left -= 1;
    const request = {
      ...defined({ app, uri: source.uri, output, destination, replaces, host }),
      onExisting: policies.onExisting,
      ...checking,
      knownRunId: progress.knownRunId,
      ...(given && { upload: given }),
    };
    const step = { phase: 'uploading', deadlineCode: failureCodes.uploadDeadline } as const;
    const uploaded = await runStep(this.job, step, (parking) => {
      const deadlineMs = this.job.park.stretched(policies.uploadDeadlineMs);
      return activities.uploadFile({ ...request, ...parking }, deadlineMs);
    });
    if ('lost' in uploaded) throw progress.failed(uploaded.lost);
    if (uploaded.skipped) return uploaded;
    this.job.host = uploaded.host;
    progress.requests += uploaded.requests;
    progress.warn(uploaded.warnings);
    progress.source = uploaded.source;
    const { connector, source: content } = uploaded;
    if (input.announcesUpload && content && connector !== given?.connector) notifyBatch({ connector, source: content });
    return uploaded;
  }
}

/** Lets rows of the batch that convert the same file start. */
function notifyBatch(upload?: SharedUpload): void {
  const { parent, workflowId } = workflowInfo();
  if (!parent) return;
  getExternalWorkflowHandle(parent.workflowId)
    .signal<[ItemUploaded]>(conversionItemUploadedSignal, defined({ workflowId, upload }))
    // The batch has ended: no row waits for the upload.
    .catch(() => undefined);
}
