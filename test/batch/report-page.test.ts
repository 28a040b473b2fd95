import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { WaitsFor } from '../../src/batch/report/report';
import { styles } from '../../src/batch/report/styles';
import { writeRunningPage } from '../../src/batch/report/write-report';
import type { RunningBatch } from '../../src/batch/model/activities';
import { createLocalFiles } from '../../src/storage/local-files';
import { failed, itemOf, makeRun, reportOn, resultOf, type Ending } from './report-run';

const succeeded = { status: 'succeeded' } as const;
const cancelled = { status: 'cancelled' } as const;

it.each<[endings: Ending[], settings: PageSettings, verdict: string, text: string]>([
  [[succeeded, succeeded], {}, 'good', 'All 2 files are converted.'],
  [[succeeded, { status: 'skipped' }], {}, 'good', 'All 2 files are done.'],
  [[succeeded, failed('EMPTY_FILE')], {}, 'bad', '1 of 2 files failed.'],
  [[failed('EMPTY_FILE'), failed('EMPTY_FILE')], {}, 'bad', 'All 2 files failed.'],
  [[succeeded, cancelled], { status: 'cancelled' }, 'open', 'Cancelled; 1 of 2 files not converted.'],
  [[failed('EMPTY_FILE'), cancelled], { status: 'stopped' }, 'bad', 'Stopped after 1 failure; 1 of 2 files not tried.'],
  [[], {}, 'good', 'The manifest was empty: there was nothing to convert.'],
])(
  "says in its first sentence whether the batch worked, and can't hide a failure: %j %j",
  async (endings, settings, ...said) => expect(verdictOf(await pageOf(endings, settings))).toEqual(said),
);

describe('a hostile name or message', () => {
  const attack = `</title></style><script>alert(1)</script><img src=x onerror='a()'>"&\u202ecod.exe`;
  const encoded = encodeURIComponent(attack.replaceAll('/', '|')).replaceAll("'", '%27');

  it('stays text wherever it appears', async () => {
    const ending = failed(attack, {
      ...{ message: attack, workflowId: attack, runId: attack, taskId: attack },
      warnings: { [attack]: attack, long: `${attack}${'x'.repeat(9_000)}` },
      possiblyChargedTwice: true,
    });
    const options = { items: { 1: { source: `file:///in/${encoded}`, output: attack } }, batch: attack };
    const page = await pageOf([ending, failed('EMPTY_FILE', { message: attack })], options);
    expect(page).toContain('&lt;script&gt;alert(1)&lt;|script&gt;');
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(page).not.toMatch(/<script|<img|\u202e/);
    expect(tagsOf(page).filter((tag) => /\son\w+=|javascript:/i.test(tag))).toEqual([]);
  });

  it("can't load or run anything: the policy allows only the style sheet, by its hash", async () => {
    const page = await pageOf([failed('EMPTY_FILE', { message: attack })]);
    const policy = /http-equiv="Content-Security-Policy"\s+content="([^"]*)"/.exec(page)?.[1]?.replaceAll('&#39;', "'");
    const inPage = /<style>([^]*?)<\/style>/.exec(page)?.[1] ?? '';
    expect(inPage).toBe(styles);
    const hash = createHash('sha256').update(inPage).digest('base64');
    expect(policy).toBe(`default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`);
  });

  it('can make a code span with backticks, and nothing else', async () => {
    const page = await pageOf([failed('EMPTY_FILE', { message: 'run `<b>` now' })]);
    expect(page).toContain('run <code>&lt;b&gt;</code> now');
  });
});

it('is self-contained: no source, no import, no style attribute that the policy would reject', async () => {
  const page = await pageOf([{ status: 'succeeded' }, failed('EMPTY_FILE')]);
  expect(tagsOf(page).filter((tag) => /\s(src|style|srcset|data|background)=/.test(tag))).toEqual([]);
  expect(styles).not.toMatch(/url\(|@import/);
  expect(tagsOf(page).filter((tag) => tag.startsWith('<link'))).toEqual([]);
});

it('has each group of failures under its own heading, with advice and jobs', async () => {
  const page = await pageOf([
    { status: 'succeeded' },
    failed('SOURCE_NOT_FOUND'),
    failed('EMPTY_FILE'),
    failed('EMPTY_FILE'),
  ]);
  const headings = [...page.matchAll(/<h([1-6])[^>]*>([^]*?)<\/h\1>/g)].map(
    ([, level, text]) => `${level} ${textOf(text ?? '')}`,
  );
  expect(headings).toEqual([
    '1 november',
    '2 Receipt',
    '2 Formats',
    '2 What failed, and what to do',
    '3 By code',
    '3 The file is empty: 2 files',
    '3 There is no such file: 1 file',
  ]);
  expect(textOf(page)).toContain('What to do: The message says what is missing');
  expect(textOf(page)).toContain('fileconv batch retry november');
  expect(page).toContain('href="http://127.0.0.1:8233/namespaces/default/workflows/november%2F2/run-2"');
});

it('says how many failures it does not list, and where they are', async () => {
  const page = await pageOf(
    Array.from({ length: 30 }, () => failed('EMPTY_FILE')),
    { maxListed: 12 },
  );
  expect(page.match(/<td>\d+<\/td>/g)).toHaveLength(12);
  expect(textOf(page)).toContain('18 more are in report.csv, column code.');
});

it('highlights conversions that may have been charged twice, even if everything succeeded', async () => {
  const page = await pageOf([{ status: 'succeeded', possiblyChargedTwice: true }, { status: 'succeeded' }]);
  expect(textOf(page)).toContain('1 conversion may have been charged twice');
  expect(textOf(await pageOf([{ status: 'succeeded' }]))).not.toContain('charged twice');
});

it('lists the files with warnings of the service, each with its warnings', async () => {
  const page = await pageOf([
    { status: 'succeeded', warnings: { FONT_REPLACED: 'Embed the font.', PAGES: 'Some are empty.' } },
    { status: 'succeeded' },
  ]);
  const text = textOf(page);
  expect(text).toContain('The service warned of 1 file');
  expect(text).toContain('/invoice-00001.docx → pdf FONT_REPLACED Embed the font. PAGES Some are empty.');
  expect(textOf(await pageOf([{ status: 'succeeded' }]))).not.toContain('warned');
});

it("lists skipped files, first those that the service can't convert, and says where the rest are", async () => {
  const refused = { code: 'NO_CONVERTER_INPUT_TO_OUTPUT', message: 'zip can not become pdf.' };
  const endings = [{ status: 'skipped' as const }, { status: 'skipped' as const, ...refused }];
  const items = { 2: { refused: { ...refused, isSkipped: true as const } } };
  expect(textOf(await pageOf([...endings, { status: 'succeeded' }], { items }))).toMatch(
    /2 files skipped .*invoice-00002\.docx → pdf .*zip can not become pdf\..*invoice-00001\.docx → pdf/,
  );
  const many = textOf(await pageOf(Array.from({ length: 130 }, () => ({ status: 'skipped' as const }))));
  expect(many).toContain('30 more are in report.csv, column status.');
  expect(textOf(await pageOf([{ status: 'succeeded' }]))).not.toContain('skipped');
});

it('shows the task, the phase and the charge of a failed file', async () => {
  const page = await pageOf([
    failed('DESTINATION_FULL', { taskId: 'task-7', charge: 'yes', phase: 'downloading' }),
    failed('OUTCOME_UNKNOWN', { charge: 'maybe', phase: 'submitting', kept: true }),
    failed('EMPTY_FILE', { charge: 'no', phase: 'uploading' }),
  ]);
  const text = textOf(page);
  expect(text).toMatch(/Task task-7, ended while downloading, charged/);
  expect(text).toMatch(/Task not known, ended while submitting, may have been charged, not sent again/);
  expect(text).toContain('fileconv batch retry november --resubmit');
  expect(text).not.toContain('ended while uploading');
});

it('is accessible to a screen reader: language, one main heading, captions, column headers, and names of links', async () => {
  const page = await pageOf([{ status: 'succeeded' }, failed('EMPTY_FILE')]);
  expect(page).toContain('<html lang="en">');
  expect(page.match(/<h1/g)).toHaveLength(1);
  for (const [table] of page.matchAll(/<table>[^]*?<\/table>/g)) {
    expect(table).toContain('<caption');
    expect(table.match(/<th scope="col"/g)).toHaveLength(table.includes('From and to') ? 3 : 4);
  }
  expect(page).toContain('aria-label="Open the job of item 2"');
});

describe('the page of a running batch', () => {
  const at = Date.UTC(2026, 10, 20, 18, 40);
  const counts = { items: 1_000, succeeded: 300, failed: 4, skipped: 0, cancelled: 0, inFlight: 50, waiting: 646 };
  const state = { ...counts, failures: { EMPTY_FILE: 4 }, at, status: 'running' as const, perSecond: 2 };
  const since = at - 60_000;

  async function livePage(change: Partial<RunningBatch> = {}, waits?: WaitsFor) {
    const run = await makeRun([]);
    await rm(path.join(run.folder, 'results.jsonl'));
    await mkdir(path.join(run.folder, 'parts'));
    const results = [resultOf(2, failed('EMPTY_FILE')), resultOf(1, succeeded)];
    await writeFile(path.join(run.folder, 'manifest.jsonl'), linesOf([itemOf(1), itemOf(2), itemOf(3)]));
    await writeFile(path.join(run.folder, 'parts', '000001.jsonl'), linesOf(results));
    await writeRunningPage(createLocalFiles(), {
      ...{ batch: 'november', folder: run.uri, state: { ...run.state, ...state, ...change }, timeZone: 'UTC' },
      ...(waits && { waits }),
      writing: { jobKey: 'page', attempt: 1 },
    });
    expect(await readdir(run.folder)).toEqual(['manifest.jsonl', 'parts', 'report.html']);
    return readFile(path.join(run.folder, 'report.html'), 'utf8');
  }

  it('shows the progress, its time, and what has failed, even if its parts lag behind its counts', async () => {
    const page = await livePage();
    expect(verdictOf(page)).toEqual(['bad', '304 of 1,000 files done, 4 failed.']);
    const text = textOf(page);
    expect(text).toContain('As of Fri, 20 Nov 2026, 18:40:00 UTC.');
    expect(text).toMatch(/In flight 50 Waiting 646 .*Runs for 10 min Time left 5 min 48 s/);
    expect(text).toMatch(/The file is empty: 4 files .*invoice-00002\.docx → pdf .* 3 more are not listed yet\./);
    // Nothing to do yet, and nowhere else to look.
    expect(text).not.toContain('batch retry');
    expect(page).not.toContain('href="report');
  });

  it('shows what it waits for, since when, until when, and what to type, but no remaining time', async () => {
    const needsAttention = { code: 'INSUFFICIENT_VCREDITS', message: 'Buy <some>.', jobs: 2, since };
    const next = { why: 'When vCredits were added', command: 'fileconv app ready' };
    const waits = { waitsFor: 'vCredits', because: 'Buy <some>.', since, until: at + 1_000, next };
    const text = textOf(await livePage({ needsAttention }, waits));
    expect(text).toContain(
      'Waiting for vCredits Since Fri, 20 Nov 2026, 18:39:00 UTC. Next attempt at Fri, 20 Nov 2026, 18:40:01 UTC. Buy &lt;some&gt;. When vCredits were added: fileconv app ready',
    );
    expect(text).not.toContain('Time left');
    expect(textOf(await livePage())).not.toContain('It waits');
  });

  it('reloads itself with the only script that its policy allows, and the reader can stop it', async () => {
    const page = await livePage();
    const policy = /http-equiv="Content-Security-Policy"\s+content="([^"]*)"/.exec(page)?.[1]?.replaceAll('&#39;', "'");
    const scripts = [...page.matchAll(/<script>([^]*?)<\/script>/g)].map(([, script]) => script ?? '');
    const hashes = scripts.map((script) => createHash('sha256').update(script).digest('base64'));
    expect(scripts).toHaveLength(1);
    expect(policy).toContain(`script-src 'sha256-${hashes[0]}';`);
    expect(page).toMatch(/<label>\s*<input type="checkbox" checked \/>/);
    expect(page).toMatch(/<noscript>\s*<meta http-equiv="refresh"/);
  });
});

it('does not replace the final page of a batch that has ended meanwhile', async () => {
  const run = await makeRun([succeeded]);
  await reportOn(run);
  const files = await readdir(run.folder);
  const state = { ...run.state, at: 1, status: 'running' as const };
  const late = { batch: 'november', folder: run.uri, state, writing: { jobKey: 'late', attempt: 1 } };
  await expect(writeRunningPage(createLocalFiles(), late)).rejects.toThrow('has ended');
  expect(await readFile(path.join(run.folder, 'report.html'), 'utf8')).toContain('The file is converted.');
  expect(await readdir(run.folder)).toEqual(files);
});

it.each([
  ['completed', 'good'],
  ['cancelled', 'done'],
] as const)('draws files of a format that have not failed in a batch that is %s as %s', async (status, tone) => {
  const page = await pageOf([succeeded, status === 'cancelled' ? { status } : succeeded], { status });
  expect(/<h2>Formats<\/h2>[^]*?<rect class="(\w+)"/.exec(page)?.[1]).toBe(tone);
});

it('charts statuses, times, formats and codes, and says the same in words', async () => {
  const startedAt = Date.UTC(2026, 10, 20, 18, 30);
  const page = await pageOf(
    [
      { status: 'succeeded', startedAt },
      failed('EMPTY_FILE', { startedAt }),
      failed('FAILED_CONVERT', { startedAt: startedAt + 3 * 3_600_000 }),
      { status: 'skipped' },
    ],
    { items: { 3: { source: 'file:///in/a.PNG', output: 'webp' }, 4: { input: 'md-gfm' } } },
  );
  const text = textOf(page);
  expect(text).toContain('the highest column is 2 files in 3 min 12 s.');
  expect(text).toMatch(/From and to Files Failed docx → pdf 2 1 png → webp 1 1 md-gfm → pdf 1 0/);
  expect(text).toMatch(/Code Files Failed EMPTY_FILE 1 1 FAILED_CONVERT 1 1/);
  const [states = ''] = /<svg[^]*?<\/svg>/.exec(page) ?? [];
  expect(
    [...states.matchAll(/<rect class="(\w+)".*? x="([\d.]+)%".*? width="([\d.]+)%"/g)].map((found) => found.slice(1)),
  ).toEqual([
    ['good', '0.00', '25.00'],
    ['bad', '25.00', '50.00'],
    ['done', '75.00', '25.00'],
  ]);
  // The charts are hidden from screen readers, which get the words.
  expect(page.match(/<svg/g)).toHaveLength(page.match(/<svg aria-hidden="true"/g)?.length ?? 0);
});

describe('the receipt', () => {
  const task = { charge: 'yes', taskId: 'task-1', vcredits: 3 } as const;
  const marked = { possiblyChargedTwice: true as const, possiblyChargedExtra: 2 };
  const source = { bytes: 1_000, sha256: 'a'.repeat(64) };
  const endings: Ending[] = [
    { status: 'succeeded', ...task },
    {
      status: 'succeeded',
      charge: 'yes',
      taskId: 'task-2',
      vcredits: 2,
      possiblyChargedTwice: true,
      possiblyChargedExtra: 1,
    },
    failed('OUTCOME_UNKNOWN', { charge: 'maybe' }),
    failed('EMPTY_FILE', { charge: 'no' }),
    { status: 'skipped' },
    // Charged in an earlier run, on whose receipt it is.
    { status: 'succeeded', charge: 'yes', taskId: 'task-0', vcredits: 0 },
    failed('OUTCOME_UNKNOWN', { charge: 'maybe', kept: true }),
    { status: 'skipped', ...marked },
    // The job of this row found that another job had done its work.
    { status: 'skipped', charge: 'yes', taskId: 'task-9', requests: 0, ...marked },
    { ...failed('RESULT_SUSPECT', { charge: 'yes', taskId: 'task-3', vcredits: 2 }), status: 'suspect' },
    // From an earlier run.
    { ...failed('RESULT_SUSPECT', { charge: 'yes', taskId: 'task-4' }), status: 'suspect' },
  ];
  const items = {
    6: { earlier: { charge: 'yes' as const, taskId: 'task-0' } },
    7: { kept: { status: 'failed' as const, charge: 'maybe' as const } },
    8: { done: { source, output: { ...source, uri: 'file:///data/out/8.pdf', name: '8.pdf' }, ...marked } },
    11: { kept: { status: 'suspect' as const, charge: 'yes' as const, taskId: 'task-4' } },
  };

  it('adds up what this run was charged, may have been charged, and was not charged, on the page and in its files', async () => {
    const run = await makeRun(endings, { items });
    const { receipt } = await reportOn(run);
    expect(receipt).toEqual({
      charged: { conversions: 3, vcredits: 7, suspect: 1 },
      possiblyCharged: { conversions: 2, vcreditsAtMost: 6 },
      notCharged: { files: 7 },
    });
    const read = (name: string) => readFile(path.join(run.folder, name), 'utf8');
    expect(JSON.parse(await read('report.json'))).toMatchObject({ receipt });
    expect((await read('receipt.csv')).trimEnd().split('\r\n')).toEqual([
      '\ufeffbatch,charge,conversions,files,vcredits,vcreditsAtMost,suspect',
      'november,yes,3,,7,,1',
      'november,maybe,2,,,6,',
      'november,no,,7,,,',
    ]);
    expect(textOf(await read('report.html'))).toContain(
      'Receipt Charged 3 conversions, 7 vCredits Suspect among them 1 conversion Possibly charged 2 conversions, at most 6 vCredits more Not charged 7 files',
    );
  });

  it('names no maximum if the price is unknown', async () => {
    const run = await makeRun([failed('OUTCOME_UNKNOWN', { charge: 'maybe' })]);
    expect((await reportOn(run)).receipt.possiblyCharged).toEqual({ conversions: 1 });
    expect(await readFile(path.join(run.folder, 'receipt.csv'), 'utf8')).toContain('november,maybe,1,,,,\r\n');
    expect(textOf(await readFile(path.join(run.folder, 'report.html'), 'utf8'))).toContain(
      '1 conversion, nobody knows the price',
    );
  });
});

interface PageSettings {
  status?: 'completed' | 'stopped' | 'cancelled';
  items?: NonNullable<Parameters<typeof makeRun>[1]>['items'];
  batch?: string;
  maxListed?: number;
}

async function pageOf(endings: readonly Ending[], settings: PageSettings = {}): Promise<string> {
  const { batch = 'november', status = 'completed', items = {}, maxListed = 1_000 } = settings;
  const run = await makeRun(endings, { status, items });
  const ui = { url: 'http://127.0.0.1:8233', namespace: 'default' };
  await reportOn(run, { batch, ui, maxListed, timeZone: 'UTC' });
  return await readFile(path.join(run.folder, 'report.html'), 'utf8');
}

function verdictOf(page: string): (string | undefined)[] {
  const [, verdict, text] = /<p class="verdict (\w+)">([^]*?)<\/p>/.exec(page) ?? [];
  return [verdict, textOf(text ?? '')];
}

function linesOf(rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}

const tagsOf = (page: string): string[] => page.match(/<[a-z][^>]*>/gi) ?? [];

function textOf(markup: string): string {
  return markup
    .replace(/<style>[^]*?<\/style>|<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .replace(/ ([.,:])/g, '$1')
    .trim();
}
