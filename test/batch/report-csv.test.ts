import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { csvColumns } from '../../src/batch/report/csv';
import type { BatchItem } from '../../src/batch/model/types';
import { makeRun, reportOn, type Ending, type MadeRun } from './report-run';

const ui = { url: 'http://127.0.0.1:8233', namespace: 'default' };

it('has a header and one line for every row of the manifest, in order', async () => {
  const { text, rows } = await csvOf(await makeRun([{ status: 'succeeded' }, { status: 'cancelled' }]));
  expect(text.split('\r\n')).toHaveLength(4);
  expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
  expect(rows.map(({ item, status }) => `${item} ${status}`)).toEqual(['1 succeeded', '2 cancelled']);
  expect(rows[0]).toEqual({
    item: '1',
    status: 'succeeded',
    source: '/data/in/2026/invoice-00001.docx',
    input: '',
    output: 'pdf',
    destination: '/data/out/invoice-00001.pdf',
    code: '',
    message: '',
    sourceBytes: '1000',
    outputBytes: '2000',
    sha256: 'b'.repeat(64),
    vcredits: '1',
    requests: '4',
    startedAt: '',
    durationMs: '2000',
    possiblyChargedTwice: 'false',
    workflowId: 'november/1',
    runId: 'run-1',
    link: 'http://127.0.0.1:8233/namespaces/default/workflows/november%2F1/run-1',
    // Runs of old versions have none of these.
    phase: '',
    taskId: '',
    charge: '',
    warnings: '',
    kept: 'false',
  });
});

it('has the task, the last step, the charge and every warning of the service for each row', async () => {
  const warnings = { FONT_REPLACED: 'Embed "Inter"; or accept it.', PAGES: 'x'.repeat(5_000) };
  const task = { taskId: 'task-7', charge: 'yes' as const, warnings };
  const { rows } = await csvOf(
    await makeRun([
      { status: 'succeeded', ...task },
      { status: 'failed', code: 'DESTINATION_FULL', phase: 'downloading', ...task },
    ]),
  );
  const told = `FONT_REPLACED: Embed "Inter"; or accept it. | PAGES: ${'x'.repeat(5_000)}`;
  expect(rows[0]).toMatchObject({ phase: '', taskId: 'task-7', charge: 'yes', warnings: told });
  expect(rows[1]).toMatchObject({ phase: 'downloading', taskId: 'task-7', charge: 'yes', warnings: told });
});

it('shows files in a message as paths', async () => {
  const message = 'Cannot convert file:///data/in/2026/invoice-00001.docx to file:///data/out/invoice-00001.pdf: no.';
  const run = await makeRun([{ status: 'failed', code: 'SOURCE_PROTECTED', message }]);
  const told = 'Cannot convert /data/in/2026/invoice-00001.docx to /data/out/invoice-00001.pdf: no.';
  expect((await csvOf(run)).rows[0]).toMatchObject({ message: told });
  expect((await reportOn(run)).failures[0]?.items[0]).toMatchObject({ message: told });
});

it('begins with a byte order mark, without which Excel misreads non-ASCII names', async () => {
  const run = await makeRun([{ status: 'succeeded' }], { items: { 1: { source: 'file:///in/M%C3%BCller.docx' } } });
  const { text, rows } = await csvOf(run);
  expect([text.startsWith('\ufeffitem,status,'), rows[0]?.['source']]).toEqual([true, '/in/Müller.docx']);
});

it('quotes commas and quotes, and escapes line breaks in names, so that a row is one line', async () => {
  const source = 'file:///in/a,%22b%22%0Ac%0D.docx';
  const message = 'first line\nsecond, "quoted"';
  const { rows } = await csvOf(
    await makeRun([{ status: 'failed', code: 'EMPTY_FILE', message }, { status: 'succeeded' }], {
      items: { 1: { source } },
    }),
  );
  expect([rows.length, rows[0]?.['source']]).toEqual([2, '/in/a,"b"\\x0ac\\x0d.docx']);
  expect(rows[0]?.['message']).toBe('first line\\x0asecond, "quoted"');
});

it.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '＝1+1', "=cmd|'/C calc'!A0"])(
  'writes %j as text, not as a formula, in every column with foreign content',
  async (formula) => {
    const own = { taskId: formula, warnings: { [formula]: formula } };
    const ending: Ending = {
      status: 'failed',
      ...{ code: formula, message: formula, workflowId: formula, runId: formula, ...own },
    };
    const item: Partial<BatchItem> = { source: formula, destination: formula, output: formula, input: formula };
    const { rows } = await csvOf(await makeRun([ending], { items: { 1: item } }));
    const filled = ['code', 'message', 'workflowId', 'runId', 'source', 'destination', 'output', 'input', 'taskId'];
    for (const column of [...filled, 'warnings']) expect(rows[0]?.[column]).toMatch(/^['\\]/);
  },
);

it('starts no formula after a semicolon, which separates cells in much of Europe', async () => {
  const source = 'file:///in/a;=HYPERLINK(%22http:%22);%20%22@b.docx';
  const { text } = await csvOf(await makeRun([{ status: 'succeeded' }], { items: { 1: { source } } }));
  const cells = text.split(/[\r\n;]+/).map((cell) => cell.replace(/^[\s"]+/, ''));
  expect(cells.filter((cell) => /^[=+\-@]/.test(cell))).toEqual([]);
  expect(text).toContain(";'=HYPERLINK");
});

it('has the result of the earlier run for a skipped row', async () => {
  const done: BatchItem['done'] = {
    source: { bytes: 7, sha256: 'c'.repeat(64) },
    output: { uri: 'file:///data/out/before.pdf', name: 'before.pdf', bytes: 9, sha256: 'd'.repeat(64) },
  };
  expect((await csvOf(await makeRun([{ status: 'skipped' }], { items: { 1: { done } } }))).rows[0]).toMatchObject({
    destination: '/data/out/before.pdf',
    sourceBytes: '7',
    outputBytes: '9',
    sha256: 'd'.repeat(64),
  });
});

it('says which jobs may have been charged twice', async () => {
  const { rows } = await csvOf(
    await makeRun([{ status: 'succeeded', possiblyChargedTwice: true }, { status: 'succeeded' }]),
  );
  expect(rows.map((row) => row['possiblyChargedTwice'])).toEqual(['true', 'false']);
});

async function csvOf(run: MadeRun): Promise<{ text: string; rows: Record<string, string>[] }> {
  await reportOn(run, { ui });
  const text = await readFile(path.join(run.folder, 'report.csv'), 'utf8');
  const [header, ...records] = parseCsv(text.slice(1));
  expect(header).toEqual([...csvColumns]);
  return {
    text,
    rows: records.map((cells) => Object.fromEntries(csvColumns.map((name, at) => [name, cells[at] ?? '']))),
  };
}

/** Strict RFC 4180: anything else is an error. */
function parseCsv(text: string): string[][] {
  const records: string[][] = [];
  let at = 0;
  while (at < text.length) {
    const record: string[] = [];
    for (;;) {
      const field = /^(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/.exec(text.slice(at));
      if (!field) throw new Error(`not RFC 4180: ${JSON.stringify(text.slice(at, at + 60))}`);
      at += field[0].length;
      record.push(field[1]?.replaceAll('""', '"') ?? field[2] ?? '');
      if (field[3] === '\r\n') break;
    }
    records.push(record);
  }
  return records;
}
