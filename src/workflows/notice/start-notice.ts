import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { ParentClosePolicy, startChild, uuid4 } from '@temporalio/workflow';
import { conversionNoticeType, type NoticeType } from '../../job/names';
import type { Notice, NoticeWishes } from '../../batch/model/notices';
import type { conversionNotice } from './conversion-notice';

type Told = Pick<Notice, 'type' | 'data' | 'quietMs'> & {
  /** Set to suppress duplicates: a second notice under an id in use is dropped. Default: a unique id. */
  workflowId?: string;
};

export function isWanted(type: NoticeType, { notifies = [], url }: NoticeWishes): boolean {
  return url !== undefined || notifies.includes(type);
}

/**
 * Sends a notice, if anyone wants it, from an abandoned child workflow, which outlives this one. Await it before this workflow ends or
 * continues as new, so that the start is recorded.
 */
export async function startNotice({ workflowId, ...told }: Told, wishes: NoticeWishes): Promise<void> {
  if (!isWanted(told.type, wishes)) return;
  const id = uuid4();
  const { url } = wishes;
  try {
    await startChild<typeof conversionNotice>(conversionNoticeType, {
      workflowId: workflowId ?? `notice/${told.type}/${id}`,
      args: [{ id, at: Date.now(), ...told, ...(url !== undefined && { url }) }],
      parentClosePolicy: ParentClosePolicy.ABANDON,
      staticSummary: `${told.type} ${told.data.batch ?? told.data.schedule ?? told.data.app}`,
    });
  } catch (error) {
    // The same notice was sent recently.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
