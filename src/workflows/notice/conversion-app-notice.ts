import { condition, defineSignal, makeContinueAsNewFunc, setHandler, workflowInfo } from '@temporalio/workflow';
import { appAcceptedSignal, appRefusedSignal, type NoticeType } from '../../job/names';
import type { AppNotice, NoticeData } from '../../batch/model/notices';
import { startNotice } from './start-notice';

/** A parked job sends a request at least once an hour, so after this long without one, no job is parked any more. */
const silenceMs = 3 * 3_600_000;
/** An app with vCredits for just one job refuses the next within moments: it has not resumed. */
const settleMs = 60_000;

/**
 * Sends one notice when an app parks, however many jobs wait and however many workers notice, and one when it resumes. Workers signal
 * the service's responses. The workflow id names app and reason, so at most one runs for each.
 *
 * Ends silently when no more requests are sent: the jobs were cancelled, or have given up.
 */
export async function conversionAppNotice(input: AppNotice): Promise<void> {
  const { app, reason, code, message, notifies, since = Date.now() } = input;
  const answers = { refusals: 0, acceptedAt: undefined as number | undefined };
  setHandler(defineSignal(appRefusedSignal), () => {
    answers.refusals += 1;
    answers.acceptedAt = undefined;
  });
  setHandler(defineSignal(appAcceptedSignal), () => void (answers.acceptedAt ??= Date.now()));
  const notify = (type: NoticeType, what: Partial<NoticeData>) =>
    startNotice({ type, data: { app, reason, code, ...what } }, { notifies });
  const continueAsNew = makeContinueAsNewFunc<typeof conversionAppNotice>({
    initialVersioningBehavior: 'AUTO_UPGRADE',
  });
  if (input.since === undefined) await notify('app.parked', { message });
  for (;;) {
    const { refusals } = answers;
    const hasAnswer = await condition(() => answers.acceptedAt !== undefined || answers.refusals > refusals, silenceMs);
    if (!hasAnswer) return;
    const { acceptedAt } = answers;
    if (acceptedAt !== undefined && !(await condition(() => answers.acceptedAt === undefined, settleMs))) {
      await notify('app.resumed', { parkedMs: acceptedAt - since });
      // A refusal during the notice starts a new park, which needs its own notice.
      return answers.acceptedAt === undefined ? continueAsNew({ app, reason, code, message, notifies }) : undefined;
    }
    if (workflowInfo().continueAsNewSuggested) await continueAsNew({ ...input, since });
  }
}
