import { headlineOf } from './headline';
import type { BatchReport } from './report';
import { counted, formatCount, formatDuration, shellWord } from './wording';

const maxCodes = 5;

/** The end of a batch, for a terminal. Holds text of the service only in codes; print it through `printable`. */
export function summariseReport(report: BatchReport): string[] {
  const { text, detail } = headlineOf(report);
  return [
    `${text}${detail === '' ? '' : ` ${detail}`}`,
    factsOf(report),
    ...report.warnings,
    ...chargedTwice(report),
    ...warned(report),
    ...failures(report),
    ...nextStep(report),
    `Report: ${report.files.html}`,
    `Every file: ${report.files.csv}`,
  ];
}

/** The command to continue with; undefined if nothing is left to do. */
export function nextCommand({ batch, counts, kept }: BatchReport): string | undefined {
  return counts.failed > kept ? `fileconv batch retry ${shellWord(batch)}` : undefined;
}

/** Advice for the items that a retry does not touch; undefined if there are none. */
export function keptAdvice({ batch, kept }: BatchReport): { text: string; command: string } | undefined {
  if (kept === 0) return undefined;
  const text = `${formatCount(kept)} of the failed may have been charged before, so nothing was sent again. Look at the service first; this converts all the same, and may be charged twice:`;
  return { text, command: `fileconv batch retry ${shellWord(batch)} --resubmit` };
}

function factsOf({ durationMs, vcredits, requests }: BatchReport): string {
  const took = durationMs === undefined ? [] : [`took ${formatDuration(durationMs)}`];
  const line = [...took, counted(vcredits, 'vCredit'), counted(requests, 'request')].join(', ');
  return `${line.charAt(0).toUpperCase()}${line.slice(1)}.`;
}

function chargedTwice({ possiblyChargedTwice: { count } }: BatchReport): string[] {
  if (count === 0) return [];
  return [`${counted(count, 'conversion')} may have been charged twice: compare with the service's list of tasks.`];
}

function warned({ serviceWarnings: { count } }: BatchReport): string[] {
  return count === 0 ? [] : [`The service warned of ${counted(count, 'file')}: see the report.`];
}

function failures({ failures: groups }: BatchReport): string[] {
  const width = formatCount(groups[0]?.count ?? 0).length;
  const lines = groups.slice(0, maxCodes).flatMap(({ code, count, what, advice }) => {
    const indent = ' '.repeat(width + 4);
    return [`  ${formatCount(count).padStart(width)}  ${code}: ${what}.`, `${indent}${advice}`];
  });
  const rest = groups.slice(maxCodes);
  if (rest.length === 0) return lines;
  const others = rest.reduce((sum, { count }) => sum + count, 0);
  return [
    ...lines,
    `  ${formatCount(others).padStart(width)}  with ${counted(rest.length, 'other code')}: see the report.`,
  ];
}

function nextStep(report: BatchReport): string[] {
  const command = nextCommand(report);
  const kept = keptAdvice(report);
  return [
    ...(command === undefined ? [] : [`When that is mended, this runs only what failed: ${command}`]),
    ...(kept ? [`${kept.text} ${kept.command}`] : []),
  ];
}
