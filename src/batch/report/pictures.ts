import { counted, formatCount, formatDuration } from '../../messages/wording';
import { type Markup, html } from './markup';
import type { BatchReport } from './report';

/** Drawn with attributes only: the page's policy refuses inline styles. The table or sentence beside each picture says the same. */

/** The states of all files, in one bar. */
export function states({ counts, running }: BatchReport): Markup {
  const { items, succeeded, failed, skipped, cancelled } = counts;
  const { inFlight = 0 } = running ?? {};
  const shares: Share[] = [
    { tone: 'good', count: succeeded },
    { tone: 'bad', count: failed },
    { tone: 'done', count: skipped },
    { tone: 'open', count: cancelled + inFlight },
  ];
  return items === 0 ? html`` : bar(shares, items);
}

export function pace({ pace: parts, durationMs }: BatchReport): Markup {
  const most = Math.max(...parts.map(({ ended }) => ended));
  if (most === 0) return html``;
  const width = 100 / parts.length;
  const column = (tone: Share['tone'], index: number, count: number) => {
    const height = (count / most) * 100;
    return rect({ x: index * width, y: 100 - height, width: width * 0.8, height, tone });
  };
  const columns = parts.flatMap(({ ended, failed }, index) => [
    column('good', index, ended),
    column('bad', index, failed),
  ]);
  return html`<section>
    <h2>When files ended</h2>
    <svg aria-hidden="true" class="columns" width="100%" height="80">${columns}</svg>
    <p class="quiet">
      Over ${formatDuration(durationMs)}; the highest column is ${counted(most, 'file')} in
      ${formatDuration(durationMs / parts.length)}.
    </p>
  </section> `;
}

interface BarRow {
  name: Markup;
  count: number;
  failed: number;
  /** Of those that have not failed. */
  tone?: Share['tone'];
}

export function pairs({ formats, counts, running }: BatchReport): Markup {
  // Some have not been converted.
  const tone: Share['tone'] = running !== undefined || counts.cancelled > 0 ? 'done' : 'good';
  const rows = Object.entries(formats)
    .map(([pair, { files, failed }]) => ({ name: html`<bdi>${pair}</bdi>`, count: files, failed, tone }))
    .sort((one, other) => other.count - one.count);
  return barTable(html`<h2>Formats</h2>`, { caption: 'Formats', what: 'From and to' }, rows);
}

/** Empty for a single code, where the picture would show nothing. */
export function causes({ failures }: BatchReport): Markup {
  const rows = failures.map(({ code, count }) => ({ name: html`<code>${code}</code>`, count, failed: count }));
  return rows.length < 2
    ? html``
    : barTable(html`<h3>By code</h3>`, { caption: 'Failures by code', what: 'Code' }, rows);
}

function barTable(
  heading: Markup,
  { caption, what }: { caption: string; what: string },
  rows: readonly BarRow[],
): Markup {
  if (rows.length === 0) return html``;
  const most = Math.max(...rows.map(({ count }) => count));
  const line = ({ name, count, failed, tone = 'good' }: BarRow) => {
    const shares: Share[] = [
      { tone, count: count - failed },
      { tone: 'bad', count: failed },
    ];
    return html`<tr>
      <th scope="row">${name}</th>
      <td class="took">${formatCount(count)}</td>
      <td class="took">${formatCount(failed)}</td>
      <td class="drawn">${bar(shares, most)}</td>
    </tr>`;
  };
  return html`<section>
    ${heading}
    <table>
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          <th scope="col">${what}</th>
          <th scope="col" class="took">Files</th>
          <th scope="col" class="took">Failed</th>
          <td class="drawn"></td>
        </tr>
      </thead>
      <tbody>
        ${rows.map(line)}
      </tbody>
    </table>
  </section> `;
}

interface Share {
  tone: 'good' | 'bad' | 'open' | 'done';
  count: number;
}

/** Shares of a whole, side by side. */
function bar(shares: readonly Share[], whole: number): Markup {
  let x = 0;
  const rects = shares.map(({ tone, count }) => {
    const width = (count / whole) * 100;
    x += width;
    return rect({ x: x - width, y: 0, width, height: 100, tone });
  });
  return html`<svg aria-hidden="true" class="bar" width="100%" height="12">${rects}</svg>`;
}

function rect({ tone, ...box }: { x: number; y: number; width: number; height: number } & Pick<Share, 'tone'>): Markup {
  if (box.height <= 0 || box.width <= 0) return html``;
  const [x, y, width, height] = [box.x, box.y, box.width, box.height].map((part) => `${part.toFixed(2)}%`);
  return html`<rect class="${tone}" fill="currentColor" x="${x}" y="${y}" width="${width}" height="${height}" />`;
}
