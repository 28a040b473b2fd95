import { ApplicationFailure, CancellationScope, workflowInfo } from '@temporalio/workflow';
import type { ActivityFailureDetails } from '../../job/activities';
import type { ConversionBatchInput } from '../../batch/model/types';
import type { BatchState, ConversionBatchResult, NeedsAttention } from '../../batch/model/state';
import { countsOf, endOfBatch, type NoticeData, type NoticeSettings } from '../../batch/model/notices';
import { isWanted, startNotice } from '../notice/start-notice';

/** A failing schedule fails every time: its notice is repeated at most this often. */
const quietMs = 3_600_000;

/** The notices of a batch. Await each method before the batch ends. */
export class BatchNotices {
  private readonly batch = workflowInfo().workflowId;

  /** `notifies`: events that the worker is configured to send. */
  constructor(
    private readonly input: ConversionBatchInput,
    public notifies: NoticeSettings['notifies'],
  ) {}

  private get settings(): NoticeSettings {
    return { notifies: this.notifies, url: this.input.notify };
  }

  get announcesAttention(): boolean {
    return isWanted('batch.needs_attention', this.settings);
  }

  needsAttention(state: BatchState, { code, message, jobs }: NeedsAttention): Promise<void> {
    return this.send('batch.needs_attention', { counts: countsOf(state), code, message, jobs });
  }

  /** Sends nothing for a scheduled run that found nothing new. */
  async ended(result: ConversionBatchResult): Promise<void> {
    if (this.input.isScheduled && result.folder === undefined) return;
    await this.send('batch.ended', endOfBatch(result));
  }

  /** The batch itself can't work; `failure` is the error of its workflow. */
  async failed(failure: unknown): Promise<void> {
    const code = failure instanceof ApplicationFailure ? (failure.type ?? 'UNEXPECTED') : 'TIMED_OUT';
    const message = failure instanceof Error ? failure.message : String(failure);
    if (!this.input.isScheduled) return this.send('batch.ended', { status: 'failed', code, message });
    const { app } = this.input;
    const data = { app, schedule: this.batch, code, message };
    const workflowId = `notice/schedule.failed/${this.batch}/${code}`;
    await CancellationScope.nonCancellable(() =>
      startNotice({ type: 'schedule.failed', data, workflowId, quietMs }, this.settings),
    );
  }

  private send(type: 'batch.ended' | 'batch.needs_attention', what: Omit<NoticeData, 'app' | 'batch'>): Promise<void> {
    const { app } = this.input;
    const data = { app, batch: this.batch, ...what };
    return CancellationScope.nonCancellable(() => startNotice({ type, data }, this.settings));
  }
}

/** The events that the worker is configured to send, from the details of its activity's failure. */
export function notifiesOf(error: unknown): NoticeSettings['notifies'] {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (!(cause instanceof ApplicationFailure)) continue;
    return (cause.details?.[0] as Partial<ActivityFailureDetails> | undefined)?.notifies;
  }
  return undefined;
}
