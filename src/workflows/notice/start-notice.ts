import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { ParentClosePolicy, startChild, uuid4 } from '@temporalio/workflow';
import { conversionNoticeType, type NoticeType } from '../../job/names';
import type { Notice, NoticeSettings } from '../../batch/model/notices';
import type { conversionNotice } from './conversion-notice';

type NoticeToSend = Pick<Notice, 'type' | 'data' | 'quietMs'> & {
  /** Set to suppress duplicates: a second notice under an id in use is dropped. Default: a unique id. */
  workflowId?: string;
};

export function isWanted(type: NoticeType, { notifies = [], url }: NoticeSettings): boolean {
  return url !== undefined || notifies.includes(type);
}

/**
 * Sends a notice, if anyone wants it, from an abandoned child workflow, which outlives this one. Await it before this workflow ends or
 * continues as new, so that the start is recorded.
 */
export async function startNotice({ workflowId, ...notice }: NoticeToSend, settings: NoticeSettings): Promise<void> {
  if (!isWanted(notice.type, settings)) return;
  const id = uuid4();
  const { url } = settings;
  try {
    await startChild<typeof conversionNotice>(conversionNoticeType, {
      workflowId: workflowId ?? `notice/${notice.type}/${id}`,
      args: [{ id, at: Date.now(), ...notice, ...(url !== undefined && { url }) }],
      parentClosePolicy: ParentClosePolicy.ABANDON,
      staticSummary: `${notice.type} ${notice.data.batch ?? notice.data.schedule ?? notice.data.app}`,
    });
  } catch (error) {
    // The same notice was sent recently.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
