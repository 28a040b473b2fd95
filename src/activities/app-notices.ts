import { Context } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/common';
import { eventsOf, type NotifySettings } from '../notices/send-notice';
import type { ParkReason } from '../job/types';
import { appAcceptedSignal, appRefusedSignal, conversionAppNoticeType, type NoticeType } from '../job/names';
import type { AppNotice } from '../batch/model/notices';

/** Suppresses repeated signals: many jobs receive the same answer at once. */
const recentMs = 30_000;

type Answer = 'refused' | 'accepted';

/**
 * Signals what a worker learns about its apps: the service refuses a job, which parks, or accepts a parked one. One workflow for each
 * app and reason (`conversionAppNotice`) merges the signals of all workers into one notice.
 */
export class AppNotices {
  readonly #notifies: readonly NoticeType[];
  readonly #sent = new Map<string, { answer: Answer; at: number }>();

  constructor(notify: NotifySettings | undefined) {
    const wanted = eventsOf(notify) ?? [];
    this.#notifies = wanted.some((event) => event.startsWith('app.')) ? wanted : [];
  }

  async refused(job: { app: string; reason: ParkReason; code: string; message: string }): Promise<void> {
    await this.#signalOnce('refused', job, async ({ client, info: { taskQueue } }, workflowId) => {
      const args: [AppNotice] = [{ ...job, notifies: this.#notifies }];
      const signal = appRefusedSignal;
      await client.workflow.signalWithStart(conversionAppNoticeType, { workflowId, taskQueue, args, signal });
    });
  }

  async accepted(app: string, reasons: readonly ParkReason[]): Promise<void> {
    for (const reason of reasons) {
      await this.#signalOnce('accepted', { app, reason }, async ({ client }, workflowId) => {
        await client.workflow.getHandle(workflowId).signal(appAcceptedSignal);
      });
    }
  }

  /** Best effort: a failed signal fails no job, since another job's answer will be signalled. */
  async #signalOnce(
    answer: Answer,
    { app, reason }: { app: string; reason: ParkReason },
    send: (context: Context, workflowId: string) => Promise<void>,
  ): Promise<void> {
    if (this.#notifies.length === 0 || reason === 'room') return;
    const context = Context.current();
    const workflowId = `notice/app/${context.info.taskQueue}/${app}/${reason}`;
    const last = this.#sent.get(workflowId);
    if (last?.answer === answer && Date.now() - last.at < recentMs) return;
    this.#sent.set(workflowId, { answer, at: Date.now() });
    try {
      await send(context, workflowId);
    } catch (error) {
      // The notice workflow has already ended.
      if (error instanceof WorkflowNotFoundError) return;
      this.#sent.delete(workflowId);
      context.log.warn('Nobody could be told what the service answers', { app, reason, answer, error });
    }
  }
}
