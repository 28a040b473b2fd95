import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { ParentClosePolicy, startChild, uuid4 } from '@temporalio/workflow';
import { conversionNoticeType, type NoticeType } from '../../job/names';
import type { Notice, NoticeWishes } from '../../batch/model/notices';
import type { conversionNotice } from './conversion-notice';

/** One event, without the fields that every notice has. */
type Told = Pick<Notice, 'type' | 'data' | 'quietMs'> & {
  /** Workflow id, if there may be one at a time. Default: one of its own. */
  workflowId?: string;
};

export function isWanted(type: NoticeType, { notifies = [], url }: NoticeWishes): boolean {
  return url !== undefined || notifies.includes(type);
}

/**
 * Has word sent, if anybody wants it: a workflow of its own does so, which outlives this one. Await it before this one ends or
 * continues as new: Temporal has the order then.
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
    // The same was told a short time ago.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
