import { commonFolder } from '../paths';
import type { BatchReport } from '../report';
import { counted, formatCount } from '../wording';
import { itemTable } from './items';
import type { Markup } from './markup';
import { html } from './markup';

/** What the service warned of: a result that is there may still need a look. */
export function warningsSection({ serviceWarnings: { count, names, items } }: BatchReport): Markup {
  if (count === 0) return html``;
  const folder = commonFolder(items.map(({ source }) => source));
  const rest = count - items.length;
  const frequent = Object.entries(names).sort(([, one], [, other]) => other - one);
  return html`<section aria-labelledby="warned">
    <h2 id="warned">The service warned of ${counted(count, 'file')}</h2>
    <p class="next small quiet">
      ${frequent.map(([name, files], index) => html`${index > 0 && ', '}<code>${name}</code> ${formatCount(files)}`)}
    </p>
    ${folder !== '' && html`<p class="next small quiet">Folders are relative to <code>${folder}</code>.</p>`}
    <div class="card group">
      ${itemTable(items, { folder, tells: 'warnings', caption: 'Files with warnings of the service' })}
      ${rest > 0 && html`<p class="more small quiet">${formatCount(rest)} more are in <a href="report.csv">report.csv</a>, column <code>warnings</code>.</p>`}
    </div>
  </section> `;
}
