import { createHash } from 'node:crypto';
import { capitalised, fileSize, counted, formatCount, formatDuration, shellWord } from '../../messages/wording';
import { html, Markup } from './markup';
import { causes, pace, pairs, states } from './pictures';
import type { BatchReport, FailureGroup, ListedItem, Running } from './report';
import { styles } from './styles';
import { headlineOf, keptAdvice, leftOutLines, nextCommand, unclearAdvice } from './summary';

/** How often an open page of a running batch reloads. */
const followSeconds = 15;

/** The script that reloads such a page unless its reader turned that off. Without scripts, a `meta` element does so. */
const following = `
const follow = document.querySelector('#follow'), box = follow.querySelector('input');
follow.hidden = false;
box.checked = location.hash !== '#still';
box.onchange = () => location.replace(box.checked ? '#' : '#still');
setInterval(() => { if (box.checked) location.reload(); }, ${followSeconds}000);
`;

const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** The page loads and runs only its own style sheet and script, allowed by hash, whatever a file name or message contains. */
const policyWith = (script: string) =>
  `default-src 'none'; style-src ${hashOf(styles)};${script} base-uri 'none'; form-action 'none'`;

const policies = { running: policyWith(` script-src ${hashOf(following)};`), ended: policyWith('') };

/** Built outside the page's template: one more space would change the hash. */
const styleElement = Markup.constant(`<style>${styles}</style>`);
const followingElement = Markup.constant(`<script>${following}</script>`);

/** @param timeZone Default: this machine's. */
export function renderPage(report: BatchReport, timeZone?: string): string {
  const isFollowed = report.running !== undefined && report.running.failure === undefined;
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="${isFollowed ? policies.running : policies.ended}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="referrer" content="no-referrer" />
        <meta name="robots" content="noindex" />
        <title>${report.batch}: ${headlineOf(report).text}</title>
        ${styleElement}
        ${isFollowed && html`<noscript><meta http-equiv="refresh" content="${followSeconds}" /></noscript>`}
      </head>
      <body>
        <main>
          ${summary(report, timeZone)} ${failure(report)} ${waits(report, timeZone)} ${notes(report)} ${receipt(report)}
          ${pace(report)} ${pairs(report)} ${failures(report)} ${warned(report)} ${skipped(report)} ${footer(report)}
        </main>
        ${isFollowed && followingElement}
      </body>
    </html>`;
  return `${page.text}\n`;
}

function summary(report: BatchReport, timeZone: string | undefined): Markup {
  const { batch, counts, status, startedAt, durationMs, vcredits, requests, bytes, running } = report;
  const { verdict, text, detail } = headlineOf(report);
  const { succeeded, failed, skipped, cancelled } = counts;
  // Zero counts are left out, except for the two that every reader looks for.
  const { inFlight = 0, waiting = 0, leftMs } = running ?? {};
  const others = Object.entries({ skipped, cancelled, 'in flight': inFlight, waiting }).filter(
    ([, count]) => count > 0,
  );
  const read = bytes.source > 0 ? `${fileSize(bytes.source)} → ` : '';
  return html`<header class="card">
    <p class="quiet">Batch report · ${running?.failure === undefined ? status : 'failed'}</p>
    <h1><bdi>${batch}</bdi></h1>
    <p class="verdict ${verdict}">${text}</p>
    ${detail !== '' && html`<p class="quiet">${detail}</p>`} ${states(report)}
    <dl>
      ${fact('Converted', formatCount(succeeded))} ${fact('Failed', formatCount(failed))}
      ${others.map(([name, count]) => fact(capitalised(name), formatCount(count)))}
      ${fact('Started', shownAt(startedAt, timeZone))}
      ${fact(running ? 'Runs for' : 'Took', formatDuration(durationMs))}
      ${leftMs !== undefined && fact('Time left', formatDuration(leftMs))} ${fact('vCredits', formatCount(vcredits))}
      ${fact('Requests', formatCount(requests))} ${bytes.output > 0 && fact('Data', `${read}${fileSize(bytes.output)}`)}
    </dl>
    ${running && asOf(report, running, timeZone)}
  </header> `;
}

function asOf({ batch }: BatchReport, { at, failure }: Running, timeZone: string | undefined): Markup {
  if (failure !== undefined) return html`<p class="quiet">As of ${shownAt(at, timeZone)}.</p>`;
  return html`<p class="quiet">
      As of ${shownAt(at, timeZone)}. This page is written again when something has changed, and not for each file. If
      it stays as it is, this says why, also when no worker runs: <code>fileconv batch status ${shellWord(batch)}</code>
    </p>
    <p class="quiet" id="follow" hidden>
      <label><input type="checkbox" checked /> Look for news every ${followSeconds} seconds</label>
    </p>`;
}

function failure({ batch, running }: BatchReport): Markup | undefined {
  if (running?.failure === undefined) return undefined;
  return html`<section class="note">
    <h2>The batch has failed</h2>
    <p>${Markup.withCode(running.failure)}</p>
    <p>What is converted stands. What to do: <code>fileconv batch status ${shellWord(batch)}</code></p>
  </section> `;
}

/** Why a running batch makes no progress. */
function waits({ running }: BatchReport, timeZone: string | undefined): Markup | undefined {
  const { waitsFor, because, since, until, next } = running?.waits ?? {};
  if (waitsFor === undefined) return undefined;
  return html`<section class="note">
    <h2>Waiting for ${waitsFor}</h2>
    ${since !== undefined && html`<p>Since ${shownAt(since, timeZone)}.</p>`}
    ${until !== undefined && html`<p>Next attempt at ${shownAt(until, timeZone)}.</p>`}
    ${because !== undefined && html`<p>${Markup.withCode(because)}</p>`}
    ${next && html`<p>${next.why}: <code>${next.command}</code></p>`}
  </section> `;
}

function fact(name: string, value: string | Markup): Markup {
  return html`<div>
    <dt>${name}</dt>
    <dd>${value}</dd>
  </div>`;
}

function notes(report: BatchReport): Markup {
  const [heading, ...lines] = leftOutLines(report);
  const { count, items } = report.possiblyChargedTwice;
  return html`${
    heading !== undefined &&
    html`<section class="note">
      <h2>${heading.replace(/\.$/, '')}</h2>
      ${lines.map((line) => html`<p>${line.trim()}</p>`)}
    </section> `
  }${
    count > 0 &&
    html`<section class="note">
      <h2>${counted(count, 'conversion')} may have been charged twice</h2>
      <p>
        No answer came to a convert request, so it was sent again, and both may have run. Compare with the service's own
        list of tasks before paying.
        ${Markup.withCode('Policy `on_unknown_outcome = "fail"` asks a person instead of sending again.')}
      </p>
      ${itemTable(items, 'Conversions that may have been charged twice')}
      ${rest(report, count - items.length, 'possiblyChargedTwice')}
    </section> `
  }`;
}

function failures(report: BatchReport): Markup {
  if (report.failures.length === 0) return html``;
  const command = nextCommand(report);
  const kept = keptAdvice(report);
  return html`<section>
    <h2>What failed, and what to do</h2>
    ${command !== undefined && html`<p>When the causes are fixed, this runs only the items that failed: <code>${command}</code></p>`}
    ${report.unclear && html`<p>${unclearAdvice}</p>`} ${kept && html`<p>${kept.text} <code>${kept.command}</code></p>`}
    ${causes(report)} ${report.failures.map((group) => failureGroup(report, group))}
  </section> `;
}

function failureGroup(report: BatchReport, { code, count, what, advice, items }: FailureGroup): Markup {
  return html`<article class="card">
    <h3>${what}: ${counted(count, 'file')}</h3>
    <p class="quiet"><code>${code}</code></p>
    <p><strong>What to do:</strong> ${Markup.withCode(advice)}</p>
    ${itemTable(items, what)} ${rest(report, count - items.length, 'code')}
  </article> `;
}

/** The cost of this run; the report files have the same for programs and spreadsheets. */
function receipt({ receipt: { charged, possiblyCharged, notCharged }, running }: BatchReport): Markup {
  const { conversions, vcreditsAtMost } = possiblyCharged;
  const most =
    vcreditsAtMost === undefined ? 'nobody knows the price' : `at most ${counted(vcreditsAtMost, 'vCredit')} more`;
  return html`<section class="card">
    <h2>Receipt${running && ' so far'}</h2>
    <dl>
      ${fact('Charged', `${counted(charged.conversions, 'conversion')}, ${counted(charged.vcredits, 'vCredit')}`)}
      ${charged.suspect !== undefined && fact('Suspect among them', counted(charged.suspect, 'conversion'))}
      ${fact('Possibly charged', conversions === 0 ? 'none' : `${counted(conversions, 'conversion')}, ${most}`)}
      ${fact('Not charged', counted(notCharged.files, 'file'))}
    </dl>
    ${!running && html`<p class="quiet">The same as a table: <a href="receipt.csv">receipt.csv</a>.</p>`}
  </section> `;
}

/** Warnings of the service: even a successful result may need a look. */
function warned(report: BatchReport): Markup {
  const { count, names, items } = report.serviceWarnings;
  if (count === 0) return html``;
  const frequent = Object.entries(names).sort(([, one], [, other]) => other - one);
  return html`<section>
    <h2>The service warned of ${counted(count, 'file')}</h2>
    <p class="quiet">
      ${frequent.map(([name, files], index) => html`${index > 0 && ', '}<code>${name}</code> ${formatCount(files)}`)}
    </p>
    ${itemTable(items, 'Files with warnings of the service')} ${rest(report, count - items.length, 'warnings')}
  </section> `;
}

function skipped(report: BatchReport): Markup {
  const { skipped: items, counts } = report;
  if (counts.skipped === 0) return html``;
  return html`<section>
    <h2>${counted(counts.skipped, 'file')} skipped</h2>
    ${itemTable(items, 'Files that were skipped')} ${rest(report, counts.skipped - items.length, 'status')}
  </section> `;
}

/** Points to the CSV, which a running batch does not have yet. */
function rest({ running }: BatchReport, count: number, column: string): Markup | undefined {
  if (count <= 0) return undefined;
  if (running) return html`<p class="quiet">${formatCount(count)} more are not listed yet.</p>`;
  return html`<p class="quiet">
    ${formatCount(count)} more are in <a href="report.csv">report.csv</a>, column <code>${column}</code>.
  </p>`;
}

function footer({ links, running }: BatchReport): Markup {
  const files = html`Every file, one a row: <a href="report.csv">report.csv</a>. For programs:
    <a href="report.json">report.json</a>.`;
  return html`<footer class="quiet">
    <p>
      ${running ? 'When the batch has ended, report.csv beside this page has every file, and report.json is for programs.' : files}
    </p>
    ${links && html`<p>In the Temporal UI: <a href="${links.batch}" rel="noreferrer">the batch</a>, <a href="${links.jobs}" rel="noreferrer">its jobs</a>.</p>`}
  </footer> `;
}

/** `caption`: for screen readers. */
function itemTable(items: readonly ListedItem[], caption: string): Markup {
  if (items.length === 0) return html``;
  return html`<table>
    <caption>
      ${caption}
    </caption>
    <thead>
      <tr>
        <th scope="col" class="item">Item</th>
        <th scope="col">File</th>
        <th scope="col" class="took">Took</th>
        <th scope="col" class="job">Job</th>
      </tr>
    </thead>
    <tbody>
      ${items.map(itemRow)}
    </tbody>
  </table> `;
}

function itemRow(item: ListedItem): Markup {
  const { source, output, message, warnings = {}, durationMs, link } = item;
  const open = html`<a href="${link ?? ''}" rel="noreferrer" aria-label="Open the job of item ${item.item}">Open</a>`;
  return html`<tr>
    <td>${item.item}</td>
    <td>
      <bdi>${source}</bdi> → <bdi>${output}</bdi> ${message !== undefined && html`<p>${Markup.withCode(message)}</p>`}
      ${Object.entries(warnings).map(([name, advice]) => html`<p><strong>${name}</strong> <bdi>${advice}</bdi></p>`)}
      ${taskLine(item)}
    </td>
    <td>${durationMs === undefined ? '–' : formatDuration(durationMs)}</td>
    <td>${link === undefined ? '–' : open}</td>
  </tr> `;
}

/** What to look for at the service; nothing if no task was accepted and nothing can have been charged. */
function taskLine({ phase, taskId, charge, kept }: ListedItem): Markup | undefined {
  if (taskId === undefined && (charge ?? 'no') === 'no') return undefined;
  const task = taskId === undefined ? html`Task not known` : html`Task <code>${taskId}</code>`;
  const whilePhase = phase === undefined ? '' : `, ended while ${phase}`;
  return html`<p class="quiet">
    ${task}${whilePhase}${charge && `, ${chargeWords[charge]}`}${kept && ', not sent again'}
  </p>`;
}

const chargeWords = { no: 'not charged', maybe: 'may have been charged', yes: 'charged' } as const;

function shownAt(ms: number, timeZone: string | undefined): Markup {
  return html`<time datetime="${new Date(ms).toISOString()}">${formatTime(ms, timeZone)}</time>`;
}

const timeFormat: Intl.DateTimeFormatOptions = {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZoneName: 'short',
};
let hereTime: Intl.DateTimeFormat | undefined;

function formatTime(ms: number, timeZone: string | undefined): string {
  // Lazy: Node takes 20 ms to load its locale data, and most programs that load this module show no page.
  if (timeZone === undefined) return (hereTime ??= new Intl.DateTimeFormat('en-GB', timeFormat)).format(ms);
  return new Intl.DateTimeFormat('en-GB', { ...timeFormat, timeZone }).format(ms);
}
