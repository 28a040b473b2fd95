import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync } from 'node:fs';
import { readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';
import { reportOf } from '../../src/batch/report/report-of';
import { readBatchReport, writeBatchReport } from '../../src/batch/report/write-report';
import { createLocalFiles } from '../../src/storage/local-files';
import { until } from '../support/until';
import { failed, itemOf, makeRun, reportOn, resultOf, writeRun, type Ending } from './report-run';

describe('failures', () => {
  it('are listed up to a limit that leaves room for rare codes', async () => {
    const many = Array.from({ length: 50 }, () => failed('FAILED_CONVERT'));
    const run = await makeRun([
      ...many,
      failed('EMPTY_FILE'),
      ...many,
      failed('EMPTY_FILE'),
      failed('LIMIT_UPLOAD_SIZE'),
    ]);
    const { failures } = await reportOn(run, { maxListed: 10 });
    expect(failures.map(({ code, count, items }) => [code, count, items.length])).toEqual([
      ['FAILED_CONVERT', 100, 7],
      ['EMPTY_FILE', 2, 2],
      ['LIMIT_UPLOAD_SIZE', 1, 1],
    ]);
  });

  it('stay countable even if a service invents codes endlessly', async () => {
    const { failures } = await reportOn(await makeRun(Array.from({ length: 1_000 }, (_, n) => failed(`MADE_UP_${n}`))));
    expect(failures.length).toBeLessThanOrEqual(201);
    expect(failures.reduce((sum, { count }) => sum + count, 0)).toBe(1_000);
    expect(failures[0]).toMatchObject({ code: 'other', count: 800 });
  });

  it('link to their workflow in the UI, also below a path', async () => {
    const run = await makeRun([failed('EMPTY_FILE', { workflowId: 'nov "x"/1?', runId: 'r#1' })]);
    const { failures, links } = await reportOn(run, { ui: { url: 'https://t.example/ui/', namespace: 'a b' } });
    expect(failures[0]?.items[0]?.link).toBe(
      'https://t.example/ui/namespaces/a%20b/workflows/nov%20%22x%22%2F1%3F/r%231',
    );
    expect(links?.batch).toBe('https://t.example/ui/namespaces/a%20b/workflows/november');
  });

  it("have no link if the UI's address is not http or https", async () => {
    const run = await makeRun([failed('EMPTY_FILE')]);
    const { failures, links } = await reportOn(run, { ui: { url: 'javascript:alert(1)', namespace: 'default' } });
    expect(links).toBeUndefined();
    expect(failures[0]?.items[0]).not.toHaveProperty('link');
  });
});

describe('warnings of the service', () => {
  it('are counted by file and by name, and listed up to a limit', async () => {
    const warned: Ending = {
      status: 'succeeded',
      taskId: 'task-1',
      charge: 'yes',
      warnings: { FONT_REPLACED: 'Look.' },
    };
    const { serviceWarnings } = await reportOn(
      await makeRun([
        warned,
        { status: 'succeeded', warnings: {} },
        failed('EMPTY_FILE', { warnings: { FONT_REPLACED: 'Look.', PAGES: 'Many.' } }),
        warned,
      ]),
      { maxListed: 2 },
    );
    expect(serviceWarnings).toMatchObject({ count: 3, names: { FONT_REPLACED: 3, PAGES: 1 } });
    expect(serviceWarnings.items).toMatchObject([
      { item: 1, warnings: { FONT_REPLACED: 'Look.' }, taskId: 'task-1', charge: 'yes' },
      { item: 3, warnings: { FONT_REPLACED: 'Look.', PAGES: 'Many.' } },
    ]);
  });

  it('are shortened in the list if they are long or many; the CSV has all of them', async () => {
    const many = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`W${n}`, 'x'.repeat(5_000)]));
    const { serviceWarnings } = await reportOn(await makeRun([{ status: 'succeeded', warnings: many }]));
    const told = Object.entries(serviceWarnings.items[0]?.warnings ?? {});
    expect([told.length, told.at(-1)]).toEqual([11, ['…', '30 more']]);
    expect(JSON.stringify(serviceWarnings).length).toBeLessThan(10_000);
  });
});

it('report.json equals the returned report, and names the other files', async () => {
  const run = await makeRun([{ status: 'succeeded' }, failed('EMPTY_FILE')]);
  const report = await reportOn(run);
  expect(JSON.parse(await readFile(path.join(run.folder, 'report.json'), 'utf8'))).toEqual(report);
  expect(report.files).toEqual({
    csv: path.join(run.folder, 'report.csv'),
    json: path.join(run.folder, 'report.json'),
    html: path.join(run.folder, 'report.html'),
    receipt: path.join(run.folder, 'receipt.csv'),
    results: path.join(run.folder, 'results.jsonl'),
  });
});

it("leaves the old report unchanged if the new one can't be finished", async () => {
  const run = await makeRun(Array.from({ length: 2_000 }, () => ({ status: 'succeeded' as const })));
  await reportOn(run);
  const before = await filesOf(run.folder);
  await writeFile(path.join(run.folder, 'results.jsonl'), `${before['results.jsonl'] ?? ''}{"item": 2`);
  await expect(reportOn(run)).rejects.toMatchObject({
    code: 'RUN_DAMAGED',
    message: expect.stringMatching(/results\.jsonl line 2001 is damaged: it is not JSON/) as string,
  });
  expect({ ...(await filesOf(run.folder)), 'results.jsonl': '' }).toEqual({ ...before, 'results.jsonl': '' });
});

it('is written completely by each of several commands that have watched the same batch', async () => {
  const run = await makeRun(Array.from({ length: 2_000 }, () => ({ status: 'succeeded' as const })));
  const reports = await Promise.all(Array.from({ length: 6 }, () => reportOn(run)));
  expect(reports.map(({ counts }) => counts.succeeded)).toEqual(reports.map(() => 2_000));
  expect((await readdir(run.folder)).sort()).toEqual([
    'manifest.jsonl',
    'receipt.csv',
    'report.csv',
    'report.html',
    'report.json',
    'results.jsonl',
  ]);
});

describe('a run that is not what the batch wrote', () => {
  it.each<[string, object[], object[], RegExp]>([
    [
      'a result of no row',
      [itemOf(1)],
      [1, 2].map((n) => resultOf(n, { status: 'skipped' })),
      /it holds more results than there are items/,
    ],
    [
      'no result of a row',
      [itemOf(1), itemOf(2)],
      [resultOf(1, { status: 'skipped' })],
      /the result of item 2 is missing/,
    ],
    [
      'two results of one row',
      [itemOf(1)],
      [1, 1].map((n) => resultOf(n, { status: 'skipped' })),
      /item 1 comes after item 1/,
    ],
    [
      'rows out of order',
      [itemOf(2), itemOf(1)],
      [resultOf(2, { status: 'skipped' })],
      /manifest\.jsonl line 2 is damaged: item 1 comes after item 2/,
    ],
    ['an unknown status', [itemOf(1)], [{ item: 1, status: 'lost' }], /results\.jsonl line 1 is damaged: status/],
  ])('%s is an error that names the line', async (_, manifest, results, message) => {
    const folder = await writeRun(manifest, results);
    const { state } = await makeRun([]);
    await expect(reportOn({ folder, uri: `file://${folder}/`, state })).rejects.toMatchObject({
      code: 'RUN_DAMAGED',
      message: expect.stringMatching(message) as string,
    });
    expect(await readdir(folder)).toEqual(['manifest.jsonl', 'results.jsonl']);
  });

  it('unmerged results or a missing folder are an error with advice, and nothing is written', async () => {
    const run = await makeRun([{ status: 'succeeded' }]);
    const { folder } = run;
    await rm(path.join(folder, 'results.jsonl'));
    await expect(reportOn(run)).rejects.toMatchObject({
      code: 'RUN_MISSING',
      message: expect.stringContaining('results.jsonl. Put the run') as string,
    });
    expect(await readdir(folder)).toEqual(['manifest.jsonl']);
    // Empty report files do not count as a report.
    for (const name of ['receipt.csv', 'report.csv', 'report.html', 'report.json'])
      await writeFile(path.join(folder, name), '');
    const options = { batch: 'november', folder: run.uri, state: run.state };
    await expect(reportOf(createLocalFiles(), options)).rejects.toMatchObject({ code: 'RUN_MISSING' });
    await rm(folder, { recursive: true });
    await expect(reportOn(run)).rejects.toMatchObject({ code: 'RUN_MISSING' });
    expect(existsSync(folder)).toBe(false);
  });

  it("a file of the run that exists but can't be reached is not reported as missing", async () => {
    const run = await makeRun([{ status: 'succeeded' }]);
    const results = path.join(run.folder, 'results.jsonl');
    await rm(results);
    await symlink(results, results);
    await expect(reportOn(run)).rejects.toThrow(/results\.jsonl: its symbolic links form a loop/);
  });
});

it('treats a name with the line separator U+2028 as one line', async () => {
  const message = 'a\u2028b';
  const { failures } = await reportOn(await makeRun([failed('EMPTY_FILE', { message })]));
  expect(failures[0]?.items[0]?.message).toBe(message);
});

it('fits into a small heap even for 100,000 failed rows', async () => {
  const rows = 100_000;
  const folder = await largeRun(rows);
  const child = spawnSync(
    process.execPath,
    ['--max-old-space-size=40', path.join(__dirname, 'report-memory.mjs'), folder],
    { encoding: 'utf8', timeout: 280_000 },
  );
  expect([child.stderr, JSON.parse(child.stdout)]).toEqual(['', { items: rows, failed: rows, listed: 1_000 }]);
});

it('is written again by the next attempt after a worker was killed in the middle, and nothing is left behind', async () => {
  const folder = await largeRun(20_000);
  const child = spawn(process.execPath, [path.join(__dirname, 'report-killed.mjs'), folder], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  await until('it writes', async () => (await readdir(folder)).some((name) => name.endsWith('.part')));
  child.kill('SIGKILL');
  expect(await ended).toEqual([null, 'SIGKILL']);
  const torn = await readdir(folder);
  expect(torn).toContainEqual(expect.stringMatching(/\.part$/));
  expect(torn).not.toContain('report.json');
  const options = { batch: 'november', folder: `${pathToFileURL(folder).href}/`, state: (await makeRun([])).state };
  expect(await readBatchReport(createLocalFiles(), options)).toBeUndefined();
  const report = await writeBatchReport(createLocalFiles(), {
    ...options,
    writing: { jobKey: 'november', attempt: 2 },
  });
  expect((await readdir(folder)).sort()).toEqual([
    'manifest.jsonl',
    ...['receipt.csv', 'report.csv', 'report.html', 'report.json'],
    'results.jsonl',
  ]);
  expect(await readBatchReport(createLocalFiles(), options)).toEqual(report);
});

async function largeRun(rows: number): Promise<string> {
  const folder = await writeRun([], []);
  const fill = (name: string, line: (item: number) => object) =>
    pipeline(
      Readable.from(
        (function* () {
          for (let item = 1; item <= rows; item += 1) yield `${JSON.stringify(line(item))}\n`;
        })(),
      ),
      createWriteStream(path.join(folder, name)),
    );
  await fill('manifest.jsonl', (item) => itemOf(item));
  await fill('results.jsonl', (item) =>
    resultOf(item, failed('FAILED_CONVERT', { message: `${item} ${'m'.repeat(500)}` })),
  );
  return folder;
}

async function filesOf(folder: string): Promise<Record<string, string>> {
  const names = await readdir(folder);
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(path.join(folder, name), 'utf8')] as const)),
  );
}
