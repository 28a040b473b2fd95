import type { BatchCounts } from '../batch/model/state';
import type { Notice, NoticeData } from '../batch/model/notices';
import { counted, formatCount, formatDuration, printable, shellWord } from '../messages/wording';

/** Describes an event in a sentence or two. Escapes `&`, `<` and `>`, which could address people in Slack and Teams. */
export function noticeText(notice: Pick<Notice, 'type' | 'data'>): string {
  const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
  return printable(sentence(notice)).replace(/[&<>]/g, (character) => escapes[character] ?? '');
}

function sentence({ type, data }: Pick<Notice, 'type' | 'data'>): string {
  const { app, batch = '', schedule = '' } = data;
  switch (type) {
    case 'batch.ended':
      return `Batch ${batch} ${endOf(data)}`;
    case 'batch.needs_attention':
      return `Batch ${batch} needs attention: ${reasonOf(data)}`;
    case 'app.parked':
      return `App ${app} is parked: ${reasonOf(data)}`;
    case 'app.resumed':
      return `App ${app} goes on. It was parked for ${formatDuration(data.parkedMs ?? 0)}: ${data.code ?? ''}.`;
    case 'schedule.failed':
      return `A run of schedule ${schedule} has failed: ${reasonOf(data)}`;
  }
}

function endOf(data: NoticeData): string {
  const { batch = '', status, counts, failures } = data;
  if (status === 'failed' || !counts) return `has failed: ${reasonOf(data)}`;
  const how = {
    completed: 'has ended',
    cancelled: 'was cancelled',
    stopped: 'has stopped after too many failures',
    budget: 'has stopped, since its vCredits are spent',
  };
  const limit = status === 'budget' ? ' --max-vcredits N, with a higher N' : '';
  const { RESULT_SUSPECT: suspect = 0, OUTCOME_UNKNOWN: unknown = 0 } = failures ?? {};
  const look = `${counted(suspect, 'result is', 'results are')} suspect: look at what stands beside ${suspect === 1 ? 'its destination' : 'their destinations'}.`;
  const charged = `${formatCount(unknown)} may have been charged: look at the service; --resubmit converts all the same.`;
  // A retry does not convert suspect results again.
  const left = counts.failed + counts.cancelled - suspect;
  const resubmit = left > unknown ? '' : ' --resubmit';
  const next = [
    ...(suspect > 0 ? [look] : []),
    ...(unknown > 0 ? [charged] : []),
    ...(left > 0 ? [`What is left: fileconv batch retry ${shellWord(batch)}${resubmit}${limit}`] : []),
  ];
  return [`${how[status ?? 'completed']}: ${shownCounts(counts)}.`, ...next].join(' ');
}

function shownCounts({ items, succeeded, failed, skipped, cancelled }: BatchCounts): string {
  const others = { failed, skipped, 'not converted': cancelled };
  const parts = Object.entries(others).flatMap(([name, count]) => (count > 0 ? [`${count} ${name}`] : []));
  return [`${succeeded} of ${counted(items, 'file')} converted`, ...parts].join(', ');
}

function reasonOf({ code = '', message = '' }: NoticeData): string {
  return [code, message].filter(Boolean).join(': ');
}
