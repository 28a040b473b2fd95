import { pathToFileURL } from 'node:url';
import { commonFolder, splitPath } from '../paths';
import type { BatchReport, FailureGroup } from '../report';
import { nextCommand } from '../summary';
import { counted, formatCount, formatDuration } from '../wording';
import type { Markup } from './markup';
import { html, Markup as M } from './markup';

type Item = FailureGroup['items'][number];

/** Rows of a group that are seen without asking for more. */
const rowsInSight = 8;

/** What failed, the most frequent code first, each with what to do about it. */
export function failuresSection(report: BatchReport): Markup {
  const { failures } = report;
  if (failures.length === 0) return html``;
  const folder = commonFolder(failures.flatMap(({ items }) => items.map(({ source }) => source)));
  const command = nextCommand(report);
  return html`<section aria-labelledby="failed">
    <h2 id="failed">What failed, and what to do</h2>
    ${command !== undefined && html`<p class="next">When the causes are mended, this runs only the items that failed: <code class="command">${command}</code></p>`}
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
    ${itemTable(items, { folder, withMessage: message === undefined, caption: what })}
    ${unlisted > 0 && html`<p class="more small quiet">${counted(items.length, 'file')} of ${formatCount(count)} listed. All of them are in <a href="report.csv">report.csv</a>: filter its column <code>code</code> by <code>${code}</code>.</p>`}
  </article> `;
}

/** When every file met the same but for its own name, it is told once. */
function sharedMessage(items: readonly Item[]): string | undefined {
  const [first, ...others] = items.map(withoutNames);
  return others.length > 0 && others.every((message) => message === first) ? first : undefined;
}

/** The message with `…` in the place of the item's own files. */
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

/** The message without what its row says already. */
function ownWords(message: string, { source, output }: Item): string {
  const prefix = `${splitPath(source).name} → ${output}: `;
  const words = message.startsWith(prefix) ? message.slice(prefix.length) : message;
  return words.charAt(0).toUpperCase() + words.slice(1);
}

interface TableOptions {
  /** Cut off the paths. */
  folder: string;
  withMessage: boolean;
  /** For those who don't see what stands above the table. */
  caption: string;
}

/** The items, the first of them in sight and the others one click away; no script is needed for that. */
export function itemTable(items: readonly Item[], options: TableOptions): Markup {
  if (items.length === 0) return html``;
  // A click for one or two more rows would be a nuisance.
  const sight = items.length <= rowsInSight + 2 ? items.length : rowsInSight;
  const rest = items.slice(sight);
  return html`${table(items.slice(0, sight), options)}
  ${
    rest.length > 0 &&
    html`<details>
      <summary>Show ${formatCount(rest.length)} more</summary>
      ${table(rest, options)}
    </details>`
  }`;
}

function table(items: readonly Item[], options: TableOptions): Markup {
  return html`<table class="items">
    <caption class="unseen">
      ${options.caption}
    </caption>
    <thead>
      <tr>
        <th scope="col" class="item">Item</th>
        <th scope="col">File</th>
        <th scope="col" class="took number">Took</th>
        <th scope="col" class="job">Job</th>
      </tr>
    </thead>
    <tbody>
      ${items.map((item) => row(item, options))}
    </tbody>
  </table> `;
}

function row(item: Item, { folder, withMessage }: TableOptions): Markup {
  const { source, output, message, durationMs, link } = item;
  const place = splitPath(source);
  const shownFolder = place.folder.startsWith(folder) ? place.folder.slice(folder.length) : place.folder;
  return html`<tr>
    <td class="item">${item.item}</td>
    <td>
      <bdi class="name">${place.name}</bdi>
      <span class="quiet">→ <bdi>${output}</bdi></span>
      ${shownFolder !== '' && html`<bdi class="folder">${shownFolder}</bdi>`}
      ${withMessage && message !== undefined && html`<span class="message">${M.withCode(ownWords(message, item))}</span>`}
    </td>
    <td class="took number">${durationMs === undefined ? '–' : formatDuration(durationMs)}</td>
    <td class="job">
      ${
        link === undefined
          ? '–'
          : html`<a href="${link}" rel="noreferrer"
              >Open<span class="unseen"> the job of item ${item.item} in the Temporal UI</span></a
            >`
      }
    </td>
  </tr> `;
}
