import { formatCount, formatDuration } from '../../../shared/wording';
import { splitPath } from '../../../storage/file-uri';
import type { FailureGroup } from '../report';
import { html, Markup as M, type Markup } from './markup';

export type Item = FailureGroup['items'][number];

/** Rows of a table that are visible without a click. */
const rowsInSight = 8;

/** The message without what its row already says. */
export function ownWords(message: string, { source, output }: Item): string {
  const prefix = `${splitPath(source).name} → ${output}: `;
  const words = message.startsWith(prefix) ? message.slice(prefix.length) : message;
  return words.charAt(0).toUpperCase() + words.slice(1);
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
