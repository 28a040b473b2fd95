import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium, type Browser, type Frame, type Page } from 'playwright-core';
import {
  defaultCacheDir,
  obtainTemporalCli,
  startTemporalServer,
  type RunningTemporalServer,
} from '../../packages/cli/src/dev-server';
import { writeBatchReport } from '../../src/batch/report/write-report';
import { shownTime } from '../../src/messages/wording';
import { createLocalFiles } from '../../src/storage/local-files';
import { planRun, type Run, startRun } from '../support/batches';
import { findBrowser } from '../support/browser';
import { startRig, type ConversionRig } from '../support/conversion-worker';
import { answerCompleted, answerError, answerOutput, answerRunning, type StubService } from '../support/stub-service';
import { until } from '../support/until';

/** What an on-call engineer sees in the Temporal UI, in a real browser. */

const screenshots = path.resolve(__dirname, '../../test-output/screenshots');
const browserPath = findBrowser();
if (browserPath === undefined) {
  console.log(
    'Skipped: there is no browser to look at the Temporal UI with. Install Chromium (Debian: apt-get install chromium), or set CHROMIUM_PATH.',
  );
}

/** A known lack of vCredits parks all jobs of the same formats, so the other files have another format. */
const parked = ['invoice-17.docx', 'invoice-18.docx'];
const batch = 'november';
/** Its second item has failed. */
const endedBatch = 'october';
const sevenDaysMs = 7 * 24 * 60 * 60 * 1_000;

(browserPath === undefined ? describe.skip : describe)('in the Temporal UI', () => {
  let server: RunningTemporalServer | undefined;
  let rig: ConversionRig;
  let browser: Browser | undefined;
  let page: Page;
  let ended: Run;
  let running: Run;

  beforeAll(async () => {
    const cliPath = await obtainTemporalCli({ env: process.env, cacheDir: defaultCacheDir(process.env, os.homedir()) });
    server = await startTemporalServer({ cliPath, env: process.env });
    rig = await startRig({ app: 'billing', temporal: { address: server.address, namespace: 'default' } });
    answerByName(rig.stub);
    const start = async (name: string) =>
      rig.client.start(
        {
          source: await rig.source(name),
          output: 'pdf',
          destination: `${rig.folder}/out/`,
          policies: { firstCheckAfter: 20 },
        },
        { workflowId: `invoices/${name}` },
      );
    const damagedUri = pathToFileURL(await rig.source('damaged.odt')).href;
    const [converted, damaged] = await Promise.all([
      start('invoice-1.odt'),
      start('damaged.odt'),
      start('thick.odt'),
      ...parked.map(start),
    ]);
    await converted.result();
    await expect(damaged.result()).rejects.toThrow('INVALID_FILE');
    ended = await planRun(rig.folder, 2, {
      name: endedBatch,
      change: (row) => (row.item === 2 ? { ...row, source: damagedUri } : row),
    });
    await (await startRun(rig.client, ended.request)).result();
    running = await planRun(rig.folder, 3, { name: batch });
    const handle = await startRun(rig.client, running.request);
    await until('the batch waits for its slow item', async () => (await handle.state()).succeeded === 2);
    await mkdir(screenshots, { recursive: true });
    console.log(`Screenshots: ${path.relative(process.cwd(), screenshots)}/`);
    browser = await chromium.launch({
      executablePath: browserPath ?? '',
      args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'],
    });
    const context = await browser.newContext({ viewport: { width: 1400, height: 1000 } });
    page = await context.newPage();
    page.setDefaultTimeout(15_000);
  });

  afterAll(async () => {
    await browser?.close();
    await rig.close();
    await server?.stop();
  });

  it('the list filtered by ConversionStatus="parked" shows exactly the parked jobs', async () => {
    await open(`workflows?query=${encodeURIComponent('ConversionStatus="parked"')}`);
    await listed(parked.map((name) => `invoices/${name}`));
    await keep('list-of-parked-jobs');
    // Proves that it is the filter that leaves out the others.
    await open('workflows');
    await page.getByRole('link', { name: 'invoices/damaged.odt' }).waitFor();
    await page.getByRole('link', { name: 'invoices/thick.odt' }).waitFor();
  });

  it("a parked job's page says what it is, what it waits for, since when, why, and what to type", async () => {
    await open(await tabOf('invoices/invoice-17.docx', 'user-metadata'));
    await told('invoice-17.docx → pdf');
    await told('App: billing');
    const { since } = await rig.client.get('invoices/invoice-17.docx').state();
    await told(`parked (submitting, for credits) since ${shownTime(since)} UTC`);
    await told('App billing has too few vCredits.');
    await told(`for the last time at ${shownTime(since + sevenDaysMs)} UTC`);
    await told('Last failure: INSUFFICIENT_VCREDITS');
    await told('fileconv app ready --app billing');
    await told('fileconv job show invoices/invoice-17.docx');
    await keep('details-of-a-parked-job');
  });

  it('the pending activity of a job shows its next attempt and the reason', async () => {
    await open(await tabOf('invoices/thick.odt', 'pending-activities'));
    await page.getByText('conversion.checkTask').first().waitFor();
    await page.getByText('Next Retry', { exact: true }).waitFor();
    await page.getByText('the service says').first().waitFor();
    await keep('pending-activity-of-a-converting-job');
    await open(await tabOf('invoices/invoice-17.docx', 'timeline'));
    await page.getByText('invoice-17.docx → pdf').first().waitFor();
    await keep('timeline-of-a-parked-job');
  });

  it("a batch's page shows its children, and its details link to them", async () => {
    await open(await tabOf(batch, 'relationships'));
    const jobs = [1, 2, 3].map((item) => running.jobId(item));
    for (const name of jobs) await page.getByRole('link', { name, exact: true }).waitFor();
    await keep('children-of-a-batch');
    await open(await tabOf(batch, 'user-metadata'));
    await told('3 items, of them 2 succeeded, 1 in flight');
    await told('Waits for 1 job in flight.');
    await keep('details-of-a-batch');
    await follow('running');
    await listed(jobs.slice(2));
    await open(await tabOf(jobs[2] ?? '', 'user-metadata'));
    await told(`Started by ${batch}`);
    await told('To: pdf at file:///');
    await follow(batch);
    await page.getByRole('heading', { name: new RegExp(`\\b${batch}$`) }).waitFor();
  });

  it("the links of a batch's report open the pages of its jobs", async () => {
    const url = server?.uiUrl ?? '';
    const state = await rig.client.getBatch(endedBatch).result();
    const uri = pathToFileURL(`${ended.folder}/`).href;
    const { links } = await writeBatchReport(createLocalFiles(), {
      batch: endedBatch,
      folder: uri,
      state,
      ui: { url, namespace: 'default' },
    });
    await page.goto(pathToFileURL(path.join(ended.folder, 'report.html')).href);
    await keep('report-of-a-batch');
    const shown = await page.locator(`a[href^="${url}"]`).all();
    const targets = await Promise.all(shown.map((link) => link.getAttribute('href')));
    expect(targets).toEqual(expect.arrayContaining([links?.batch, links?.jobs]));
    await page.goto(links?.jobs ?? '');
    await listed([1, 2].map((item) => ended.jobId(item)));
    const name = ended.jobId(2);
    await page.goto(targets.find((target) => target?.includes(encodeURIComponent(name))) ?? '');
    await page.getByRole('heading', { name }).waitFor();
  });

  /** Opens a page of the namespace. */
  async function open(where: string): Promise<void> {
    await page.goto(`${server?.uiUrl ?? ''}/namespaces/default/${where}`);
  }

  async function tabOf(workflowId: string, tab: string): Promise<string> {
    const { runId } = await rig.temporal.workflow.getHandle(workflowId).describe();
    return `workflows/${encodeURIComponent(workflowId)}/${runId}/${tab}`;
  }

  /** Resolves when the list shows exactly these workflows. */
  async function listed(workflowIds: readonly string[]): Promise<void> {
    const rows = page.locator('table tbody a[href$="/timeline"]');
    const idsShown = async () => new Set((await rows.allInnerTexts()).filter((text) => text.includes('/')));
    const expected = [...workflowIds].sort().join();
    await until(`the list shows ${expected}`, async () => [...(await idsShown())].sort().join() === expected);
  }

  /** Each piece of Markdown is in a frame of its own. Resolves when one of them contains the text. */
  async function told(text: string): Promise<void> {
    const says = async (frame: Frame) => (await frame.locator('body').innerText()).replace(/\s+/g, ' ').includes(text);
    const isTold = async () => (await Promise.all(page.frames().slice(1).map(says))).includes(true);
    await until(`the page says ${text}`, () => isTold().catch(() => false));
  }

  /** Clicks a link of the details, which opens a new page, and continues there. */
  async function follow(text: string): Promise<void> {
    const link = page.locator('iframe').last().contentFrame().getByRole('link', { name: text, exact: true });
    const opened = page.context().waitForEvent('page');
    await link.click();
    await page.close();
    page = await opened;
  }

  async function keep(name: string): Promise<void> {
    await page.screenshot({ path: path.join(screenshots, `${name}.png`), fullPage: true });
  }
});

function answerByName(stub: StubService): void {
  const names = new Map<string, string>();
  stub.on('upload/file', (seen, response) => {
    const connector = randomUUID();
    names.set(connector, /filename="([^"]+)"/.exec(seen.body.toString('latin1'))?.[1] ?? '');
    answerOutput(response, { connector, size: 1 });
  });
  stub.on('convert/file', (seen, response) => {
    const name = names.get(seen.connector) ?? '';
    if (parked.includes(name)) {
      answerError(response, 403, 'INSUFFICIENT_VCREDITS');
      return;
    }
    const id = randomUUID();
    names.set(id, name);
    answerRunning(response, id);
  });
  stub.on('task/response', ({ connector: id }, response) => {
    const name = names.get(id);
    if (name === 'thick.odt' || name === '3.md')
      answerOutput(response, { entity: { id, status: 'running' }, result: {} });
    else if (name === 'damaged.odt')
      answerCompleted(response, id, { error: { code: 'INVALID_FILE', message: 'The file is damaged.' } });
    else answerCompleted(response, id);
  });
}
