import type { BatchReport } from './report';
import { hasEnded } from './report';
import { counted, formatCount } from './wording';

/** `good`: nothing is left to do. `bad`: something failed. `open`: no failures, but not all is done. */
export type Verdict = 'good' | 'bad' | 'open';

export interface Headline {
  verdict: Verdict;
  /** One sentence that answers "did it work?". */
  text: string;
  /** What follows from it; may be empty. */
  detail: string;
}

export function headlineOf(report: BatchReport): Headline {
  const { counts, status } = report;
  const { items, succeeded, failed, skipped, cancelled, unfinished } = counts;
  const left = cancelled + unfinished;
  const verdict = failed > 0 ? 'bad' : left > 0 ? 'open' : 'good';
  return { verdict, text: text(), detail: detail() };

  function text(): string {
    const total = counted(items, 'file');
    if (items === 0) return 'The manifest was empty: there was nothing to convert.';
    if (status === 'stopped')
      return `Stopped after ${counted(failed, 'failure')}; ${formatCount(left)} of ${total} not tried.`;
    if (status === 'cancelled' && left > 0) return `Cancelled; ${formatCount(left)} of ${total} not converted.`;
    if (failed === items) return items === 1 ? 'The only file failed.' : `All ${total} failed.`;
    if (failed > 0) return `${formatCount(failed)} of ${total} failed.`;
    if (unfinished > 0) return `${formatCount(items - unfinished)} of ${total} are done.`;
    if (cancelled > 0) return `${formatCount(cancelled)} of ${total} were not converted.`;
    if (succeeded === 0) return 'There was nothing left to convert.';
    if (items === 1) return 'The file is converted.';
    return skipped === 0 ? `All ${total} are converted.` : `All ${total} are done.`;
  }

  function detail(): string {
    const done = [
      succeeded > 0 && succeeded < items ? `${formatCount(succeeded)} converted` : '',
      failed > 0 && status === 'cancelled' ? `${formatCount(failed)} failed` : '',
      skipped > 0 ? `${formatCount(skipped)} skipped: their results are there already` : '',
    ].filter((part) => part !== '');
    const parts = done.length === 0 ? [] : [`${done.join('; ')}.`];
    if (cancelled > 0 && status === 'completed') parts.push(`${formatCount(cancelled)} cancelled.`);
    if (cancelled > 0 && status !== 'completed') parts.push('Run the same batch again to go on with the rest.');
    if (unfinished > 0) parts.push(`${counted(unfinished, 'file')} without a result${hasEnded(status) ? '' : ' yet'}.`);
    return parts.join(' ');
  }
}
