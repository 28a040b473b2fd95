import { condition, defineSignal, makeContinueAsNewFunc, setHandler, workflowInfo } from '@temporalio/workflow';
import { appAcceptedSignal, appRefusedSignal, type NoticeType } from '../../job/names';
import type { AppNotice, NoticeData } from '../../batch/model/notices';
import { startNotice } from './start-notice';

/** A parked job asks at least once an hour. When none has for this long, none waits any more. */
const silenceMs = 3 * 3_600_000;
/** An app that has vCredits for one job refuses the next in a moment: it does not go on. */
const settleMs = 60_000;

/**
 * Tells that an app is parked, once however many jobs wait and however many workers notice, and once that it goes on. Workers signal
 * what the service answers; its id names app and reason, so that there is one at a time.
 *
 * Ends without a word when nobody asks any more: jobs were cancelled, or have given up.
 */
export async function conversionAppNotice(input: AppNotice): Promise<void> {
  const { app, reason, code, message, notifies, since = Date.now() } = input;
  const heard = { refusals: 0, acceptedAt: undefined as number | undefined };
  setHandler(defineSignal(appRefusedSignal), () => {
    heard.refusals += 1;
    heard.acceptedAt = undefined;
  });
  setHandler(defineSignal(appAcceptedSignal), () => void (heard.acceptedAt ??= Date.now()));
  const tell = (type: NoticeType, what: Partial<NoticeData>) =>
    startNotice({ type, data: { app, reason, code, ...what } }, { notifies });
  const continueAsNew = makeContinueAsNewFunc<typeof conversionAppNotice>({
    initialVersioningBehavior: 'AUTO_UPGRADE',
  });
  if (input.since === undefined) await tell('app.parked', { message });
  for (;;) {
    const { refusals } = heard;
    const isHeard = await condition(() => heard.acceptedAt !== undefined || heard.refusals > refusals, silenceMs);
    if (!isHeard) return;
    const { acceptedAt } = heard;
    if (acceptedAt !== undefined && !(await condition(() => heard.acceptedAt === undefined, settleMs))) {
      await tell('app.resumed', { parkedMs: acceptedAt - since });
      // Unless it was refused again meanwhile, which needs a notice too.
      return heard.acceptedAt === undefined ? continueAsNew({ app, reason, code, message, notifies }) : undefined;
    }
    if (workflowInfo().continueAsNewSuggested) await continueAsNew({ ...input, since });
  }
}
