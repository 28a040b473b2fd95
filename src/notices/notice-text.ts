import type { BatchCounts } from '../shared/batch-state';
import type { Notice, NoticeData } from '../shared/notices';
import { counted, formatDuration, printable, shellWord } from '../shared/wording';

/** What happened in a sentence or two, as Slack and Teams show it: `&`, `<` and `>` would address people there. */
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
  const { batch = '', status, counts } = data;
  if (status === 'failed' || !counts) return `has failed: ${reasonOf(data)}`;
  const how = {
    completed: 'has ended',
    cancelled: 'was cancelled',
    stopped: 'has stopped after too many failures',
    budget: 'has stopped, since its vCredits are spent',
  };
  const retry = `What is left: fileconv batch retry ${shellWord(batch)}`;
  const isLeft = counts.failed + counts.cancelled > 0;
  return `${how[status ?? 'completed']}: ${shownCounts(counts)}.${isLeft ? ` ${retry}` : ''}`;
}

function shownCounts({ items, succeeded, failed, skipped, cancelled }: BatchCounts): string {
  const others = { failed, skipped, 'not converted': cancelled };
  const parts = Object.entries(others).flatMap(([name, count]) => (count > 0 ? [`${count} ${name}`] : []));
  return [`${succeeded} of ${counted(items, 'file')} converted`, ...parts].join(', ');
}

function reasonOf({ code = '', message = '' }: NoticeData): string {
  return [code, message].filter(Boolean).join(': ');
}
