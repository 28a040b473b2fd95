import { allHandlersFinished, condition, defineUpdate, setHandler } from '@temporalio/workflow';
import type { ConversionAcceptance } from '../../shared/job';
import { acceptedUpdate } from '../../shared/names';
import type { JobProgress } from './job-progress';

const accepted = defineUpdate<ConversionAcceptance>(acceptedUpdate);

/** Answers those who wait for the service to take the conversion. */
export class Acceptance {
  private end: { failure?: Error } | undefined;

  constructor(private readonly progress: JobProgress) {}

  listen(): void {
    setHandler(accepted, async (): Promise<ConversionAcceptance> => {
      const { charge } = this.progress;
      await condition(() => charge.taskId !== undefined || this.end !== undefined);
      if (charge.taskId !== undefined) return { status: 'accepted', taskId: charge.taskId };
      if (this.end?.failure !== undefined) throw this.end.failure;
      return { status: 'skipped' };
    });
  }

  /** Called when the job ends: an Update without an answer by then gets none. */
  async close(end: { failure?: Error } = {}): Promise<void> {
    this.end = end;
    await condition(allHandlersFinished);
  }
}
