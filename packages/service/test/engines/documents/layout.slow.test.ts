import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { entriesOf, textOfEntry } from '../../../src/engines/archive';
import { serviceOfAllTests } from '../../support';

/** Layout by typst: all text is readable on the pages, or a warning names the rest. */

const { client } = serviceOfAllTests({ conversionConcurrency: 1 });

async function laidOut(name: string, data: string) {
  const pdf = await client.convertToBytes({ name, data }, 'pdf');
  const { bytes } = await client.convertToBytes({ name: 'a.pdf', data: pdf.bytes }, 'txt');
  return { pages: bytes.toString('utf8').split('\f'), warning: pdf.warning };
}

const rows = Array.from({ length: 300 }, (_, index) => index + 1);

describe('a table longer than a page', () => {
  const csv = ['No,Name,Amount', ...rows.map((row) => `${row},Row number ${row},${row}.50`)].join('\n');
  const markdown = ['| No | Name |', '|---|---|', ...rows.map((row) => `| ${row} | Row number ${row} |`)].join('\n');
  const html = `<div><table><tr><th>No</th><th>Name</th></tr>${rows.map((row) => `<tr><td>${row}</td><td>Row number ${row}</td></tr>`).join('')}</table></div>`;

  it.each([
    ['a.csv', csv],
    ['a.md', markdown],
    ['a.html', html],
  ])('continues on the next page and repeats its header: %s', async (name, data) => {
    const { pages, warning } = await laidOut(name, data);
    expect(pages.length).toBeGreaterThan(6);
    expect(pages.every((page) => page.trim().startsWith('No Name'))).toBe(true);
    expect(rows.filter((row) => !pages.some((page) => page.includes(`Row number ${row}`)))).toEqual([]);
    expect(warning).toEqual({});
  });
});

describe('blocks that pandoc would keep on one page', () => {
  const words = (word: string) => `${word} words `.repeat(1_500);
  it.each([
    ['a definition', `<dl><dt>Term</dt><dd>${words('definition')}</dd></dl>`],
    ['a figure', `<figure><p>${words('figure')}</p></figure>`],
    [
      'an abstract',
      `<html><head><title>T</title><meta name="abstract" content="${words('abstract')}"></head><body>b</body></html>`,
    ],
    ['a cell', `<table><tr><td>${words('cell')}</td><td>c</td></tr></table>`],
    ['the head of a table', `<table><tr><th>${words('head')}</th><th>c</th></tr><tr><td>a</td><td>b</td></tr></table>`],
  ])('continue on the next page: %s', async (_title, html) => {
    const { pages, warning } = await laidOut('a.html', html);
    expect(pages.length).toBeGreaterThan(2);
    expect(warning).toEqual({});
  });
});

describe('a table wider than a page', () => {
  it('gets a page that is wide enough', async () => {
    const columns = Array.from({ length: 100 }, (_, column) => column);
    const csv = rows.slice(0, 60).map((row) => columns.map((column) => `value-${row}-${column}`).join(','));
    const { pages, warning } = await laidOut('a.csv', csv.join('\n'));
    expect(pages.join('')).toContain('value-60-99');
    expect(warning).toEqual({});
  });

  it('stays inside the list or cell that contains it', async () => {
    const wide = `<table><tr>${rows
      .slice(0, 30)
      .map((row) => `<td>word${row}</td>`)
      .join('')}</tr></table>`;
    const { warning } = await laidOut(
      'a.html',
      `<ul><li>${wide}</li></ul><table><tr><td>${wide}</td><td>b</td></tr></table>`,
    );
    expect(warning).toEqual({});
  });
});

it('breaks a word longer than a line without a hyphen', async () => {
  const iban = '1234567890'.repeat(30);
  const { pages, warning } = await laidOut('a.html', `<p>${iban}</p><pre>${iban}</pre><ul><li>${iban}</li></ul>`);
  expect(
    pages
      .join('')
      .replace(/[\s\u200b]/g, '')
      .split(iban).length,
  ).toBe(4);
  expect(warning).toEqual({});
});

it('counts and names characters without a font, with what to install', async () => {
  // No machine has a font with Anatolian hieroglyphs by chance.
  expect((await laidOut('a.html', '<p>Right, and \u{14400}\u{14401}\u{14400}.</p>')).warning).toEqual({
    GLYPHS_MISSING: expect.stringMatching(
      /^No font of this machine has 3 character\(s\) .*: others \(\u{14400} \u{14401}\)\. Run: apt-get install fonts-/u,
    ) as string,
  });
});

describe('a report in columns', () => {
  const line = (row: number) => `NAME${String(row).padEnd(28)}DEPARTMENT${'='.repeat(80)}${String(row).padStart(10)}`;
  const page = Array.from({ length: 60 }, (_, row) => line(row)).join('\n');

  it('with 132 columns and 60 lines keeps its pages in a PDF', async () => {
    const { pages, warning } = await laidOut('a.txt', `${page}\f${page}\f${page}\n`);
    expect(pages.map((text) => text.match(/NAME\d+ +DEPARTMENT={80} +\d+/g)?.length)).toEqual([60, 60, 60]);
    expect(warning).toEqual({});
  });

  it.each(['docx', 'odt', 'html'])('keeps its blanks and pages in %s', async (format) => {
    const { bytes } = await client.convertToBytes(
      { name: 'a.txt', data: 'NAME      HOURS\nSMITH        40\n\fPAGE      2\n' },
      format,
    );
    const entries = entriesOf(bytes).filter(({ name }) => /^(word\/document|content)\.xml$/.test(name));
    const text = entries[0] ? textOfEntry(bytes, entries[0]) : bytes.toString('utf8');
    expect(text).toMatch(/SMITH(?: {8}|(?:<[^<>]*>)* ?<text:s text:c="[78]" ?\/>)/);
    expect(text).toMatch(/w:type="page"|break-before(?:: |=")page/);
  });
});

it.each([
  ['Arabic', 'بِسْمِ اللَّهِ الرَّحْمَٰنِ\n\nكَتَبَ الطَّالِبُ الدَّرْسَ فِي الدَّفْتَرِ'],
  ['Hebrew', 'שָׁלוֹם עוֹלָם\n\nבְּרֵאשִׁית בָּרָא אֱלֹהִים'],
])('lays out vocalized %s without losing or overprinting text', async (_title, text) => {
  expect((await laidOut('a.md', text)).warning).toEqual({});
});

it('lays out an ordinary document without a warning', async () => {
  const markdown = await readFile(path.resolve(__dirname, '../../../../../docs/service/engines.md'), 'utf8');
  expect((await laidOut('a.md', markdown)).warning).toEqual({});
});
