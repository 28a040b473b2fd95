import { summariseReport } from '../../src/batch/report/summary';
import type { BatchItem } from '../../src/batch/model/types';
import type { PlannedRows } from '../../src/batch/model/state';
import { failed, makeRun, reportOn, type Ending } from './report-run';

it('says in a few lines whether it worked, the failures with advice, the next command, and where the reports are', async () => {
  const { lines, folder } = await summaryOf([
    { status: 'succeeded' },
    { status: 'skipped' },
    failed('EMPTY_FILE'),
    failed('SOURCE_NOT_FOUND'),
    failed('SOURCE_NOT_FOUND'),
  ]);
  expect(lines).toEqual([
    '3 of 5 files failed. 1 converted; 1 skipped: their results already exist.',
    'Took 3 h 12 min, 1 vCredit, 16 requests.',
    '  2  SOURCE_NOT_FOUND: There is no such file.',
    '     The message says what is missing. Put it there, or correct the row; the worker must see it under the same path or URI.',
    '     One message: SOURCE_NOT_FOUND',
    '     /data/in/2026/invoice-00004.docx',
    '     /data/in/2026/invoice-00005.docx',
    '  1  EMPTY_FILE: The file is empty.',
    '     Put the whole file in its place, or take it out of the batch.',
    '     /data/in/2026/invoice-00003.docx',
    'When that is fixed, this runs only what failed: fileconv batch retry november',
    `Report: ${folder}/report.html`,
    `Every file: ${folder}/report.csv`,
  ]);
});

it('distinguishes results that exist from those that are gone', async () => {
  const { lines } = await summaryOf([
    { status: 'succeeded' },
    { status: 'skipped' },
    { status: 'skipped', missing: true },
  ]);
  expect(lines[0]).toBe(
    'All 3 files are done. 1 converted; 1 skipped: their results already exist; 1 skipped: done before, and gone since (--again converts these files again).',
  );
});

it('contains nothing to do for a successful batch', async () => {
  const { lines } = await summaryOf([{ status: 'succeeded' }]);
  expect(lines[0]).toBe('The file is converted.');
  expect(lines.join('\n')).not.toMatch(/retry|charged/);
});

it('names the five most frequent codes, and counts the rest', async () => {
  const { lines } = await summaryOf(
    ['A', 'B', 'C', 'D', 'E', 'F', 'G'].flatMap((code, index) => Array.from({ length: 7 - index }, () => failed(code))),
  );
  expect(lines.filter((line) => /^ +\d+ {2}\w:/.test(line)).map((line) => line.trim().slice(0, 4))).toEqual([
    '7  A',
    '6  B',
    '5  C',
    '4  D',
    '3  E',
  ]);
  expect(lines).toContain('  3  with 2 other codes: see the report.');
});

it('names at most twenty failed files, some of each code', async () => {
  const { lines } = await summaryOf([...Array.from({ length: 30 }, () => failed('EMPTY_FILE')), failed('A')]);
  expect(lines.filter((line) => line.includes('invoice-'))).toHaveLength(11);
  expect(lines).toContain('      and 20 other files: see the report.');
  expect(lines).toContain('      /data/in/2026/invoice-00031.docx');
});

it('shows the messages of rows without a file name', async () => {
  const ending = { ...failed('ROW_INVALID'), message: 'm.csv line 3, column source: it is empty.' };
  const { lines } = await summaryOf([ending, ending], 'november', { items: { 1: { source: '' }, 2: { source: '' } } });
  expect(lines.filter((line) => line.includes('m.csv line 3'))).toHaveLength(2);
  expect(lines.join('\n')).not.toMatch(/other file|One message/);
});

it('warns of conversions that may have been charged twice', async () => {
  const { lines } = await summaryOf([{ status: 'succeeded', possiblyChargedTwice: true }]);
  expect(lines).toContain("1 conversion may have been charged twice: compare with the service's list of tasks.");
});

it.each<Partial<Ending>>([{}, { kept: true }])(
  'counts possible charges, which only --resubmit converts',
  async (again) => {
    const kept: Ending = { ...failed('OUTCOME_UNKNOWN'), charge: 'maybe', ...again };
    const told =
      '2 of the failed may have been charged. Look at the service first; this converts all the same, and may be charged twice: fileconv batch retry november --resubmit';
    const some = await summaryOf([kept, kept, failed('EMPTY_FILE')]);
    expect(some.lines).toContain(told);
    expect(some.lines).toContain('When that is fixed, this runs only what failed: fileconv batch retry november');
    const all = await summaryOf([kept, kept]);
    expect(all.lines).toContain(told);
    expect(all.lines.join('\n')).not.toContain('When that is fixed');
  },
);

it('counts the files with warnings of the service', async () => {
  const warned: Ending = { status: 'succeeded', warnings: { FONT_REPLACED: 'Look.', PAGES: 'Many.' } };
  const { lines } = await summaryOf([warned, warned, { status: 'succeeded' }]);
  expect(lines).toContain('The service warned of 2 files: see the report.');
});

it('says how to fix rows that need another plan, and suggests no retry for them', async () => {
  const refused = { code: 'DESTINATION_TAKEN', message: 'a.md and a.txt', isUnclear: true } as const;
  const taken: Ending = { ...failed('DESTINATION_TAKEN'), charge: 'no' };
  const items = { 1: { refused }, 2: { refused, source: '' } };
  const advice = expect.stringMatching(/^Rows that are wrong, or in the way .* run the same batch again/) as unknown;
  const only = await summaryOf([taken, taken, { status: 'succeeded' }], 'november', { items });
  expect(only.lines).toContainEqual(advice);
  expect(only.lines.join('\n')).not.toContain('retry');
  expect(only.lines.filter((line) => line.trim() === '')).toEqual([]);
  const both = await summaryOf([taken, taken, failed('SOURCE_EMPTY')], 'november', { items });
  expect(both.lines).toContainEqual(advice);
  expect(both.lines).toContain('When that is fixed, this runs only what failed: fileconv batch retry november');
});

it('reports what was left out, and that not everything is converted', async () => {
  const warnings = Array.from({ length: 100 }, (_, index) => `in/${index} can't be read. It is left out.`);
  const planned = { leftOut: 150, warnings } as PlannedRows;
  const { lines } = await summaryOf([{ status: 'succeeded' }, { status: 'succeeded' }], 'november', { planned });
  expect(lines[0]).toBe('All that can be read: 2 files are converted. 150 left out.');
  expect(lines).toContain("Left out, and not converted: 150 files or folders that can't be read.");
  expect(lines.filter((line) => line.startsWith('  in/'))).toHaveLength(20);
  expect(lines).toContain('  and 130 more.');
});

it('prints a command that is quoted for a shell, whatever the name of the batch', async () => {
  const { lines } = await summaryOf([failed('EMPTY_FILE')], "it's $HOME");
  expect(lines.find((line) => line.includes('retry'))).toMatch(/fileconv batch retry 'it'\\''s \$HOME'$/);
});

async function summaryOf(
  endings: readonly Ending[],
  batch = 'november',
  { planned, items }: { planned?: PlannedRows; items?: Record<number, Partial<BatchItem>> } = {},
): Promise<{ lines: string[]; folder: string }> {
  const run = await makeRun(endings, { ...(items && { items }) });
  const report = await reportOn({ ...run, state: { ...run.state, ...(planned && { planned }) } }, { batch });
  return { lines: summariseReport(report), folder: run.folder };
}
