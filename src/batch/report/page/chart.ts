import { counted, formatDuration } from '../../../shared/wording';
import type { DurationBar } from '../durations';
import { html, type Markup } from './markup';

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
export function durationChart(bars: readonly DurationBar[]): Markup | undefined {
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

export function shareBar(parts: readonly { name: string; className: string; count: number }[]): Markup {
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
