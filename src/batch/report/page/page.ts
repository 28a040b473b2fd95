import { createHash } from 'node:crypto';
import { capitalised, fileSize, counted, formatCount, formatDuration } from '../../../shared/wording';
import { commonFolder } from '../../../storage/file-uri';
import type { DurationBar } from '../durations';
import type { BatchReport } from '../report';
import { headlineOf, leftOutLines, type Verdict } from '../summary';
import { failuresSection, skippedSection, warningsSection, itemTable } from './failures';
import { html, Markup } from './markup';
import { styles } from './styles';

export interface PageOptions {
  bars: readonly DurationBar[];
  /** Default: this machine's. */
  timeZone?: string | undefined;
}

/** Nothing is loaded or executed, whatever a file name or message contains; the style sheet is allowed by its hash. */
const policy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(styles).digest('base64')}'; base-uri 'none'; form-action 'none'`;

/** Built outside the page's template: one more space would change the hash. */
const styleElement = Markup.constant(`<style>${styles}</style>`);

export function renderPage(report: BatchReport, options: PageOptions): string {
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="${policy}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="referrer" content="no-referrer" />
        <meta name="robots" content="noindex" />
        <title>${report.batch}: ${headlineOf(report).text}</title>
        ${styleElement}
      </head>
      <body>
        <main>
          ${summaryCard(report, options)} ${notes(report)} ${failuresSection(report)} ${warningsSection(report)}
          ${skippedSection(report)} ${durationsSection(report, options)} ${footer(report)}
        </main>
      </body>
    </html>`;
  return `${page.text}\n`;
}

function summaryCard(report: BatchReport, { timeZone }: PageOptions): Markup {
  const { batch, counts, status } = report;
  const { verdict, text, detail } = headlineOf(report);
  const parts = [
    { name: 'converted', className: 'good', count: counts.succeeded },
    { name: 'failed', className: 'bad', count: counts.failed },
    { name: 'skipped', className: 'skipped', count: counts.skipped },
    { name: 'cancelled', className: 'cancelled', count: counts.cancelled },
    { name: 'unfinished', className: 'unfinished', count: counts.unfinished },
  ];
  // Zero counts are left out, except for the two that every reader looks for.
  const shown = parts.filter(({ name, count }) => count > 0 || name === 'converted' || name === 'failed');
  return html`<header class="card">
    <p class="kicker">Batch report · ${status}</p>
    <h1><bdi>${batch}</bdi></h1>
    <p class="verdict ${verdict}">${icons[verdict]}<span>${text}</span></p>
    ${detail !== '' && html`<p class="detail">${detail}</p>`} ${counts.items > 0 && shareBar(parts)}
    <dl class="counts">
      ${shown.map(
        ({ name, className, count }) =>
          html`<div class="dot-${className}">
            <dt>${capitalised(name)}</dt>
            <dd>${formatCount(count)}</dd>
          </div>`,
      )}
    </dl>
    <dl class="facts">${facts(report, timeZone)}</dl>
  </header> `;
}

function facts(report: BatchReport, timeZone: string | undefined): Markup[] {
  const { startedAt, durationMs, vcredits, requests, bytes } = report;
  const started = html`<time datetime="${new Date(startedAt).toISOString()}">${formatTime(startedAt, timeZone)}</time>`;
  const size = (value: number) => fileSize(value).replace(' ', '\u00a0');
  const read = bytes.source > 0 ? `${size(bytes.source)} → ` : '';
  return [
    fact('Started', started),
    ...(durationMs === undefined ? [] : [fact('Took', formatDuration(durationMs))]),
    fact('vCredits', formatCount(vcredits)),
    fact('Requests', formatCount(requests)),
    ...(bytes.output > 0 ? [fact('Data', `${read}${size(bytes.output)}`)] : []),
  ];
}

function fact(name: string, value: string | Markup): Markup {
  return html`<div>
    <dt>${name}</dt>
    <dd>${value}</dd>
  </div>`;
}

function notes(report: BatchReport): Markup {
  const { warnings, possiblyChargedTwice } = report;
  const doubtful =
    warnings.length > 0 &&
    html`<section class="note" aria-labelledby="doubtful">
      <h2 id="doubtful">This report may be incomplete</h2>
      ${warnings.map((warning) => html`<p>${warning}</p>`)}
    </section> `;
  const [heading, ...lines] = leftOutLines(report);
  const leftOut =
    heading !== undefined &&
    html`<section class="note" aria-labelledby="left-out">
      <h2 id="left-out">${heading.replace(/\.$/, '')}</h2>
      ${lines.map((line) => html`<p>${line.trim()}</p>`)}
    </section> `;
  return html`${doubtful}${leftOut}${possiblyChargedTwice.count > 0 && chargedTwice(possiblyChargedTwice)}`;
}

function chargedTwice({ count, items }: BatchReport['possiblyChargedTwice']): Markup {
  const folder = commonFolder(items.map(({ source }) => source));
  const rest = count - items.length;
  return html`<section class="note" aria-labelledby="charged">
    <h2 id="charged">${counted(count, 'conversion')} may have been charged twice</h2>
    <p>
      No answer came to a convert request, so it was sent again, and both may have run. Compare with the service's own
      list of tasks before paying.
      ${Markup.withCode('Policy `on_unknown_outcome = "fail"` asks a person instead of sending again.')}
    </p>
    ${folder !== '' && html`<p class="small quiet">Folders are relative to <code>${folder}</code>.</p>`}
    ${itemTable(items, { folder, tells: 'task', caption: 'Conversions that may have been charged twice' })}
    ${rest > 0 && html`<p class="small quiet">${formatCount(rest)} more are in <a href="report.csv">report.csv</a>, column <code>possiblyChargedTwice</code>.</p>`}
  </section> `;
}

function durationsSection({ durations, counts }: BatchReport, { bars }: PageOptions): Markup {
  if (!durations) return html``;
  const { medianMs, p95Ms, longestMs } = durations;
  const figures =
    counts.succeeded === 1
      ? [fact('It took', formatDuration(longestMs))]
      : [
          fact('Half of them within', formatDuration(medianMs)),
          fact('95 of 100 within', formatDuration(p95Ms)),
          fact('The longest', formatDuration(longestMs)),
        ];
  return html`<section aria-labelledby="durations">
    <h2 id="durations">How long a converted file took</h2>
    <div class="card">
      <dl class="counts plain">${figures}</dl>
      ${durationChart(bars)}
      <p class="small quiet">From the start of its job to its end, waiting included.</p>
    </div>
  </section> `;
}

function footer({ links, batch }: BatchReport): Markup {
  return html`<footer>
    <p>
      Every file, one a row: <a href="report.csv">report.csv</a>. For programs: <a href="report.json">report.json</a>.
    </p>
    ${links && html`<p>In the Temporal UI: <a href="${links.batch}" rel="noreferrer">the batch</a>, <a href="${links.jobs}" rel="noreferrer">its jobs</a>.</p>`}
    <p>Written by fileconv for batch <bdi>${batch}</bdi>.</p>
  </footer> `;
}

const timeFormat: Intl.DateTimeFormatOptions = {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
};
/** Created on module load, since Node takes 20 ms to load its locale data. */
const hereTime = new Intl.DateTimeFormat('en-GB', timeFormat);

function formatTime(ms: number, timeZone: string | undefined): string {
  if (timeZone === undefined) return hereTime.format(ms);
  return new Intl.DateTimeFormat('en-GB', { ...timeFormat, timeZone }).format(ms);
}

const icons: Readonly<Record<Verdict, Markup>> = {
  good: icon('M7.5 12.5l3 3 6-7'),
  bad: icon('M8.5 8.5l7 7m0-7l-7 7'),
  open: icon('M12 7v6m0 3.5v.1'),
};

function icon(path: string): Markup {
  return html`<svg
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    stroke-width="2.2"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
  >
    <circle cx="12" cy="12" r="10" />
    <path d="${path}" />
  </svg>`;
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
/** Where readers expect tick marks on a time axis. */
const roundDurations = [
  ...[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30].map((value) => value * second),
  ...[1, 2, 5, 10, 20, 30].map((value) => value * minute),
  ...[1, 2, 5, 12].map((value) => value * hour),
  ...[1, 2, 5, 10, 20, 50, 100].map((value) => value * day),
];
/** As many labels as fit side by side on a phone. */
const maxTicks = 5;
const topPx = 22;
const axisPx = 132;
const heightPx = 158;

/**
 * A histogram on a logarithmic axis. Only positions scale with the width, so that text stays readable on a phone.
 * Undefined if all jobs took about the same time.
 */
function durationChart(bars: readonly DurationBar[]): Markup | undefined {
  const [first] = bars;
  const last = bars.at(-1);
  if (!first || !last || bars.length < 2) return undefined;
  const axis = { fromMs: first.fromMs, toMs: last.toMs };
  const most = Math.max(...bars.map(({ count }) => count));
  const width = 100 / bars.length;
  const drawn = bars.map(({ count }, index) => {
    if (count === 0) return html``;
    const height = Math.max(2, ((axisPx - topPx) * count) / most);
    const place = { x: percent((index + 0.06) * width), width: percent(0.88 * width) };
    return html`<rect
      x="${place.x}"
      y="${round(axisPx - height)}"
      width="${place.width}"
      height="${round(height)}"
      rx="1.5"
    />`;
  });
  return html`<svg class="chart" role="img" aria-labelledby="chart-title" height="${heightPx}" width="100%">
    <title id="chart-title">
      Files by the time that they took, from ${formatDuration(axis.fromMs)} to ${formatDuration(axis.toMs)}; the axis is
      logarithmic.
    </title>
    <line class="grid" x1="0" x2="100%" y1="${topPx}" y2="${topPx}" />
    <text x="0" y="${topPx - 7}">${counted(most, 'file')}</text>
    <g class="bars">${drawn}</g>
    <line class="axis" x1="0" x2="100%" y1="${axisPx}" y2="${axisPx}" />
    ${ticks(axis)}
  </svg>`;
}

function ticks(axis: { fromMs: number; toMs: number }): Markup[] {
  const within = roundDurations.filter((ms) => ms >= axis.fromMs && ms <= axis.toMs);
  const step = Math.ceil(within.length / maxTicks);
  const shown = within.filter((_, index) => index % step === 0);
  const values = shown.length < 2 ? [axis.fromMs, axis.toMs] : shown;
  return values.map((ms) => {
    const share = Math.log(ms / axis.fromMs) / Math.log(axis.toMs / axis.fromMs);
    const anchor = share < 0.06 ? 'start' : share > 0.94 ? 'end' : 'middle';
    const x = percent(share * 100);
    return html`<line class="axis" x1="${x}" x2="${x}" y1="${axisPx}" y2="${axisPx + 5}" /><text
        x="${x}"
        y="${heightPx - 8}"
        text-anchor="${anchor}"
        >${formatDuration(ms)}</text
      >`;
  });
}

/** Every non-zero share stays visible, however small. */
const smallestShare = 0.8;

function shareBar(parts: readonly { name: string; className: string; count: number }[]): Markup {
  const filled = parts.filter(({ count }) => count > 0);
  const total = filled.reduce((sum, { count }) => sum + count, 0);
  const widened = filled.map((part) => ({ ...part, share: Math.max(smallestShare, (100 * part.count) / total) }));
  const sum = widened.reduce((all, { share }) => all + share, 0);
  let x = 0;
  const drawn = widened.map(({ className, share }) => {
    const rect = html`<rect
      class="${className}"
      x="${percent(x)}"
      width="${percent((100 * share) / sum)}"
      height="100%"
    />`;
    x += (100 * share) / sum;
    return rect;
  });
  const label = filled.map(({ name, count }) => `${count} ${name}`).join(', ');
  return html`<svg class="shares" role="img" aria-label="${label}" width="100%" height="12">${drawn}</svg>`;
}

function percent(value: number): string {
  return `${round(value)}%`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
