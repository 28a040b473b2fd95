import { endedOf } from '../model/progress';
import { counted, formatCount, formatDuration, shellWord } from '../../messages/wording';
import type { BatchReport } from './report';

const maxCodes = 5;
/** Maximum number of file names, over all codes. */
const maxNames = 20;

/** The result of a batch, for a terminal. Codes and messages contain foreign text: print it through `printable`. */
export function summariseReport(report: BatchReport): string[] {
  const { text, detail } = headlineOf(report);
  const { durationMs, vcredits, requests } = report;
  const { count: warned } = report.serviceWarnings;
  const command = nextCommand(report);
  const kept = keptAdvice(report);
  return [
    `${text}${detail === '' ? '' : ` ${detail}`}`,
    `Took ${formatDuration(durationMs)}, ${counted(vcredits, 'vCredit')}, ${counted(requests, 'request')}.`,
    ...chargedTwice(report.possiblyChargedTwice.count),
    ...(warned === 0 ? [] : [`The service warned of ${counted(warned, 'file')}: see the report.`]),
    ...failures(report),
    ...leftOutLines(report),
    ...(report.unclear ? [unclearAdvice] : []),
    ...(command === undefined ? [] : [`When that is fixed, this runs only what failed: ${command}`]),
    ...(kept ? [`${kept.text} ${kept.command}`] : []),
    `Report: ${report.files.html}`,
    `Every file: ${report.files.csv}`,
  ];
}

/** The command to continue with; undefined if nothing is left to do, or the batch runs. */
export function nextCommand(report: BatchReport): string | undefined {
  const { batch, counts, kept, running, unclear = 0, suspect = 0 } = report;
  return !running && counts.failed > kept + unclear + suspect ? `fileconv batch retry ${shellWord(batch)}` : undefined;
}

/** For rows that only a new plan can fix. */
export const unclearAdvice =
  'Rows that are wrong, or in the way of one another: mend them and run the same batch again, which does nothing twice.';

/** The heading, and what was left out; none if nothing was. */
export function leftOutLines({ leftOut }: Pick<BatchReport, 'leftOut'>): string[] {
  if (!leftOut) return [];
  const { count, messages } = leftOut;
  const named = messages.slice(0, maxNames);
  const rest = count - named.length;
  return [
    `Left out, and not converted: ${counted(count, 'file or folder', 'files or folders')} that can't be read.`,
    ...named.map((message) => `  ${message}`),
    ...(rest > 0 ? [`  and ${formatCount(rest)} more.`] : []),
  ];
}

/** Advice for the items that a retry does not touch; undefined if there are none. */
export function keptAdvice({ batch, kept, running }: BatchReport): { text: string; command: string } | undefined {
  if (kept === 0 || running) return undefined;
  const text = `${formatCount(kept)} of the failed may have been charged. Look at the service first; this converts all the same, and may be charged twice:`;
  return { text, command: `fileconv batch retry ${shellWord(batch)} --resubmit` };
}

export function chargedTwice(count: number): string[] {
  if (count === 0) return [];
  return [`${counted(count, 'conversion')} may have been charged twice: compare with the service's list of tasks.`];
}

function failures({ failures: groups }: BatchReport): string[] {
  const width = formatCount(groups[0]?.count ?? 0).length;
  const shown = groups.slice(0, maxCodes);
  const names = Math.floor(maxNames / shown.length);
  const lines = shown.flatMap(({ code, count, what, advice, items }) => {
    const [first] = items;
    const listed = items.slice(0, names);
    const unnamed = count - listed.length;
    const indent = ' '.repeat(width + 4);
    // A row without a source is listed by its message below.
    const message = first?.source !== '' && /\bthe message\b/i.test(advice) ? first?.message : undefined;
    return [
      `  ${formatCount(count).padStart(width)}  ${code}: ${what}.`,
      `${indent}${advice}`,
      ...(message === undefined ? [] : [`${indent}${count > 1 ? 'One message' : 'The message'}: ${message}`]),
      ...listed.map((item) => `${indent}${item.source || item.message}`),
      ...(unnamed > 0 ? [`${indent}and ${counted(unnamed, 'other file')}: see the report.`] : []),
    ];
  });
  const rest = groups.slice(maxCodes);
  if (rest.length === 0) return lines;
  const others = rest.reduce((sum, { count }) => sum + count, 0);
  return [
    ...lines,
    `  ${formatCount(others).padStart(width)}  with ${counted(rest.length, 'other code')}: see the report.`,
  ];
}

/** `good`: nothing is left to do. `bad`: something failed. `open`: no failures, but not all is done. */
type Verdict = 'good' | 'bad' | 'open';

interface Headline {
  verdict: Verdict;
  text: string;
  /** Counts and next steps; may be empty. */
  detail: string;
}

export function headlineOf(report: BatchReport): Headline {
  const { counts, status, running } = report;
  const { items, succeeded, failed, skipped, cancelled } = counts;
  const { unconvertible = 0, missing = 0 } = report;
  const there = skipped - unconvertible - missing;
  const verdict =
    failed > 0 || running?.failure !== undefined ? 'bad' : running || cancelled > 0 || report.leftOut ? 'open' : 'good';
  return { verdict, text: text(), detail: detail() };

  function text(): string {
    const total = counted(items, 'file');
    if (running)
      return `${formatCount(endedOf(counts))} of ${total} done${failed > 0 ? `, ${formatCount(failed)} failed` : ''}.`;
    if (items === 0) return 'The manifest was empty: there was nothing to convert.';
    if (status === 'stopped')
      return `Stopped after ${counted(failed, 'failure')}; ${formatCount(cancelled)} of ${total} not tried.`;
    if (status === 'budget') return `The vCredits are spent; ${formatCount(cancelled)} of ${total} not tried.`;
    if (status === 'cancelled' && cancelled > 0)
      return `Cancelled; ${formatCount(cancelled)} of ${total} not converted.`;
    if (failed === items) return items === 1 ? 'The only file failed.' : `All ${total} failed.`;
    if (failed > 0) return `${formatCount(failed)} of ${total} failed.`;
    if (cancelled > 0) return `${formatCount(cancelled)} of ${total} were not converted.`;
    if (succeeded === 0) return 'There was nothing left to convert.';
    const all = report.leftOut ? 'All that can be read:' : 'All';
    if (items === 1) return report.leftOut ? 'The file that can be read is converted.' : 'The file is converted.';
    return skipped === 0 ? `${all} ${total} are converted.` : `${all} ${total} are done.`;
  }

  function detail(): string {
    const done = [
      succeeded > 0 && succeeded < items ? `${formatCount(succeeded)} converted` : '',
      failed > 0 && status === 'cancelled' ? `${formatCount(failed)} failed` : '',
      there > 0 ? `${formatCount(there)} skipped: their results already exist` : '',
      missing > 0
        ? `${formatCount(missing)} skipped: done before, and gone since (--again converts these files again)`
        : '',
      unconvertible > 0 ? `${formatCount(unconvertible)} skipped: the service does not convert them` : '',
    ].filter((part) => part !== '');
    if (running) return done.length === 0 ? '' : `${done.join('; ')}.`;
    const parts = done.length === 0 ? [] : [`${done.join('; ')}.`];
    if (cancelled > 0 && status === 'completed') parts.push(`${formatCount(cancelled)} cancelled.`);
    const how = status === 'budget' ? ' with a higher --max-vcredits' : '';
    if (cancelled > 0 && status !== 'completed')
      parts.push(`Run the same batch again${how} to continue with the rest.`);
    if (report.leftOut) parts.push(`${formatCount(report.leftOut.count)} left out.`);
    return parts.join(' ');
  }
}
