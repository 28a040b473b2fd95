import { pathToFileURL } from 'node:url';
import { capitalised, counted, formatCount, formatDuration } from '../../../shared/wording';
import { commonFolder, splitPath } from '../../../storage/file-uri';
import type { BatchReport, FailureGroup } from '../report';
import { keptAdvice, nextCommand, unclearAdvice } from '../summary';
import { html, Markup as M, type Markup } from './markup';

export function failuresSection(report: BatchReport): Markup {
  const { failures } = report;
  if (failures.length === 0) return html``;
  const folder = commonFolder(failures.flatMap(({ items }) => items.map(({ source }) => source)));
  const command = nextCommand(report);
  const kept = keptAdvice(report);
  return html`<section aria-labelledby="failed">
    <h2 id="failed">What failed, and what to do</h2>
    ${command !== undefined && html`<p class="next">When the causes are fixed, this runs only the items that failed: <code class="command">${command}</code></p>`}
    ${report.unclear && html`<p class="next">${unclearAdvice}</p>`}
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

/** What was not converted, and why, where that is told. */
export function skippedSection({ skipped: items, counts }: BatchReport): Markup {
  if (counts.skipped === 0) return html``;
  const folder = commonFolder(items.map(({ source }) => source));
  const rest = counts.skipped - items.length;
  return html`<section aria-labelledby="skipped">
    <h2 id="skipped">${counted(counts.skipped, 'file')} skipped</h2>
    ${folder !== '' && html`<p class="next small quiet">Folders are relative to <code>${folder}</code>.</p>`}
    <div class="card group">
      ${itemTable(items, { folder, tells: 'message', caption: 'Files that were skipped' })}
      ${rest > 0 && html`<p class="more small quiet">${formatCount(rest)} more are in <a href="report.csv">report.csv</a>, column <code>status</code>.</p>`}
    </div>
  </section> `;
}

export type Item = FailureGroup['items'][number];

/** Rows of a table that are visible without a click. */
const rowsInSight = 8;

/** The message without what its row already says. */
function ownWords(message: string, { source, output }: Item): string {
  const prefix = `${splitPath(source).name} → ${output}: `;
  const words = message.startsWith(prefix) ? message.slice(prefix.length) : message;
  const beginsWithPath = /^\S*[./]\S/.test(words);
  return beginsWithPath ? words : capitalised(words);
}

interface TableOptions {
  /** Cut off the paths. */
  folder: string;
  /** What is below each file: its job's message and task, the task alone, or the service's warnings. */
  tells: 'message' | 'task' | 'warnings';
  /** For screen readers. */
  caption: string;
}

/** A table of the items: the first ones visible, the others one click away without a script. */
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

function row(item: Item, { folder, tells }: TableOptions): Markup {
  const { source, output, message, warnings, durationMs, link } = item;
  const place = splitPath(source);
  const shownFolder = place.folder.startsWith(folder) ? place.folder.slice(folder.length) : place.folder;
  return html`<tr>
    <td class="item">${item.item}</td>
    <td>
      <bdi class="name">${place.name}</bdi>
      <span class="quiet">→ <bdi>${output}</bdi></span>
      ${shownFolder !== '' && html`<bdi class="folder">${shownFolder}</bdi>`}
      ${tells === 'message' && message !== undefined && html`<span class="message">${M.withCode(ownWords(message, item))}</span>`}
      ${tells === 'warnings' ? warnings && warningList(warnings) : taskLine(item)}
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

function warningList(warnings: Readonly<Record<string, string>>): Markup {
  const each = ([name, advice]: [string, string]) => html`<li><strong>${name}</strong> <bdi>${advice}</bdi></li>`;
  return html`<ul class="warnings">
    ${Object.entries(warnings).map(each)}
  </ul>`;
}

/** What to look for at the service; nothing if no task was accepted and nothing can have been charged. */
function taskLine({ phase, taskId, charge, kept }: Item): Markup | undefined {
  if (taskId === undefined && (charge ?? 'no') === 'no') return undefined;
  const task = taskId === undefined ? html`Task not known` : html`Task <code>${taskId}</code>`;
  const stood = phase === undefined ? '' : `, ended while ${phase}`;
  return html`<span class="folder"
    >${task}${stood}${charge && `, ${chargeWords[charge]}`}${kept && ', not sent again'}</span
  >`;
}

const chargeWords = { no: 'not charged', maybe: 'may have been charged', yes: 'charged' } as const;
