import { failureCodes } from '../../shared/activities';
import type { ConversionOutput } from '../../shared/job';
import { runStep, type JobParts } from './job-parts';

export interface Uploaded {
  connector: string;
  /** Absent when another job uploaded it. */
  bytes?: number;
}

function placeOf({ output, destination }: ConversionOutput) {
  return { output, ...(destination !== undefined && { destination }) };
}

/** A lost upload is repeated once: a second loss has another cause. */
const uploadsAtMost = 2;

export class SourceUpload {
  private left = uploadsAtMost;

  constructor(private readonly job: JobParts) {}

  /** An upload that the service lost or let expire can be repeated. */
  get isRepeatable(): boolean {
    return this.left > 0 && 'uri' in this.job.input.source;
  }

  /** Resets the limit: an upload that expires while the job waits for an operator is not the service's fault. */
  forgive(): void {
    this.left = uploadsAtMost;
  }

  async run(): Promise<Uploaded | 'skipped'> {
    const { input, policies, progress, activities, leftovers } = this.job;
    const { app, source, output, outputs, destination, describeSource } = input;
    if ('connector' in source) {
      leftovers.marker = source.marker;
      return source;
    }
    this.left -= 1;
    const request = {
      app,
      uri: source.uri,
      ...(output !== undefined && { output }),
      ...(outputs && { outputs: outputs.filter(({ done }) => !done).map(placeOf) }),
      ...(destination !== undefined && { destination }),
      onExisting: policies.onExisting,
      ...(describeSource && { describeSource }),
      ...leftovers.marked,
    };
    const step = { phase: 'uploading', deadlineCode: failureCodes.uploadDeadline } as const;
    const uploaded = await runStep(this.job, step, () => activities.uploadFile(request));
    if (uploaded.skipped) return 'skipped';
    leftovers.marker = uploaded.marker;
    progress.requests += uploaded.requests;
    progress.source = uploaded.source;
    progress.warn(uploaded.warnings);
    return uploaded;
  }
}
