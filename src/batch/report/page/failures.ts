import { pathToFileURL } from 'node:url';
import { counted, formatCount } from '../../../shared/wording';
import { commonFolder, splitPath } from '../../../storage/file-uri';
import type { BatchReport, FailureGroup } from '../report';
import { keptAdvice, nextCommand } from '../summary';
import { itemTable, ownWords, type Item } from './items';
import { html, Markup as M, type Markup } from './markup';

export function failuresSection(report: BatchReport): Markup {
  const { failures } = report;
  if (failures.length === 0) return html``;
  const folder = commonFolder(failures.flatMap(({ items }) => items.map(({ source }) => source)));
  const command = nextCommand(report);
  const kept = keptAdvice(report);
  return html`<section aria-labelledby="failed">
    <h2 id="failed">What failed, and what to do</h2>
    ${command !== undefined && html`<p class="next">When the causes are mended, this runs only the items that failed: <code class="command">${command}</code></p>`}
    ${kept && html`<p class="next">${kept.text} <code class="command">${kept.command}</code></p>`}
    ${failures.length > 1 && overview(failures)}
    ${folder !== '' && html`<p class="next small quiet">Folders are relative to <code>${folder}</code>.</p>`}
    ${failures.map((group, index) => groupCard(group, { index, folder }))}
  </section> `;
}

function overview(failures: readonly FailureGroup[]): Markup {
  const rows = failures.map(
    ({ what, code, count }, index) =>
      html`<tr>
        <td><a href="#failure-${index + 1}">${what}</a> <code class="folder">${code}</code></td>
        <td class="number">${formatCount(count)}</td>
      </tr>`,
  );
  return html`<div class="card group overview">
    <table>
      <thead>
        <tr>
          <th scope="col">Cause</th>
          <th scope="col" class="number">Files</th>
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div> `;
}

function groupCard(group: FailureGroup, { index, folder }: { index: number; folder: string }): Markup {
  const { code, count, what, advice, items } = group;
  const message = sharedMessage(items);
  const unlisted = count - items.length;
  return html`<article class="card group" aria-labelledby="failure-${index + 1}">
    <h3 id="failure-${index + 1}"><span>${what}</span> <span class="count">${counted(count, 'file')}</span></h3>
    <p class="small quiet"><code>${code}</code></p>
    <p class="todo"><strong>What to do:</strong> ${M.withCode(advice)}</p>
    ${message !== undefined && html`<p class="next">${M.withCode(message)}</p>`}
    ${itemTable(items, { folder, tells: message === undefined ? 'message' : 'task', caption: what })}
    ${unlisted > 0 && html`<p class="more small quiet">${counted(items.length, 'file')} of ${formatCount(count)} listed. All of them are in <a href="report.csv">report.csv</a>: filter its column <code>code</code> by <code>${code}</code>.</p>`}
  </article> `;
}

/** A message that all items share but for their own file names is shown once. */
function sharedMessage(items: readonly Item[]): string | undefined {
  const [first, ...others] = items.map(withoutNames);
  return others.length > 0 && others.every((message) => message === first) ? first : undefined;
}

/** The message with `…` in place of the item's own files. */
function withoutNames(item: Item): string | undefined {
  const { message, source, destination } = item;
  const names = [source, destination].flatMap((file) => [
    file.startsWith('/') ? pathToFileURL(file).href : file,
    file,
    splitPath(file).name,
  ]);
  return names
    .filter((name) => name !== '')
    .reduce((text, name) => text?.replaceAll(name, '…'), message && ownWords(message, item));
}

/** What the service warned of: even a successful result may need a look. */
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
