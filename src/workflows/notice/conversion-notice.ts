import { proxyActivities, sleep } from '@temporalio/workflow';
import type { Notice, NoticeActivities } from '../../batch/model/notices';

const { 'conversion.sendNotice': send } = proxyActivities<NoticeActivities>({
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '10 seconds',
  scheduleToCloseTimeout: '1 day',
  retry: { initialInterval: '1 second', maximumInterval: '10 minutes', backoffCoefficient: 2 },
});

/**
 * Notifies a listener. Runs as a workflow of its own, so that its starter may end. Retries for a day with the same id, then fails with
 * `NOTICE_NOT_SENT`.
 */
export async function conversionNotice(notice: Notice): Promise<void> {
  await send(notice);
  if (notice.quietMs !== undefined) await sleep(notice.quietMs, { summary: 'no second word of the same' });
}
