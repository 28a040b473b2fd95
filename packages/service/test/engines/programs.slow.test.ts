import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import sharp from 'sharp';
import { findProgram, programs } from '../../src/engines/programs';
import { engineNames } from '../../src/engines/engine';
import { until } from '../../../../test/support/until';
import { processesBelow } from '../processes';
import { serviceOfAllTests, tinySvg } from '../support';
import { filledForm, textAndScan } from './pdfs';
import { withPrograms } from './with-packages';
import { odf } from './odf';
import { xlsx } from './xlsx';

/** Programs of the machine, if installed: Debian's libreoffice-writer-nogui and so on, ffmpeg, tesseract-ocr, chromium. */

const { client } = serviceOfAllTests({ conversionConcurrency: 1, engines: engineNames });

const converted = async (name: string, data: string | Buffer, output: string, parameters = {}): Promise<Buffer> =>
  (await client.convertToBytes({ name, data }, output, parameters)).bytes;

const textOf = async (pdf: Buffer): Promise<string> => (await converted('printed.pdf', pdf, 'txt')).toString();

const report = '# Numbers\n\nWords of the report.\n\n| city | people |\n|---|---|\n| Ulm | 126329 |\n';

withPrograms(['writer'], () => {
  it('prints text documents, including old ones, and converts between them', async () => {
    const docx = await converted('report.md', report, 'docx');
    const doc = await converted('report.docx', docx, 'doc');
    expect(doc.subarray(0, 4).toString('hex')).toBe('d0cf11e0');
    for (const [name, data] of [
      ['report.docx', docx],
      ['report.doc', doc],
      ['report.odt', await converted('report.doc', doc, 'odt')],
      ['report.rtf', await converted('report.doc', doc, 'rtf')],
    ] as const) {
      expect(await textOf(await converted(name, data, 'pdf'))).toMatch(/Numbers[^]*Words of the report\.[^]*126329/);
    }
    expect((await converted('report.doc', doc, 'txt')).toString()).toMatch(/Words of the report\./);
  });

  it('prints several OpenDocument texts in a row', async () => {
    const odt = await converted('report.docx', await converted('report.md', report, 'docx'), 'odt');
    for (let file = 1; file <= 3; file += 1) {
      expect(await textOf(await converted(`${file}.odt`, odt, 'pdf'))).toContain('Words of the report.');
    }
  });

  it('prints the requested pages', async () => {
    const long = await converted(
      'long.md',
      Array.from({ length: 120 }, (_, line) => `Line ${line}.`).join('\n\n'),
      'docx',
    );
    const text = await textOf(await converted('long.docx', long, 'pdf', { pages: '2' }));
    expect(text).not.toContain('Line 0.');
    expect(text).toContain('Line 40.');
  });

  it('reports a damaged file in one line', async () => {
    const { error } = await client.convert({ name: 'cut.doc', data: Buffer.from('d0cf11e0a1b11ae1', 'hex') }, 'pdf');
    expect(error.code).toBe('FAILED_CONVERT');
    expect(error.message).toMatch(/^LibreOffice could not convert the doc file to pdf; it may be damaged/);
    expect(error.message).not.toContain(tmpdir());
  });
});

withPrograms(['calc'], () => {
  it('prints spreadsheets, and reads and writes old ones', async () => {
    const xls = await converted('sums.xlsx', await converted('sums.csv', 'item,price\nx,1.50\n', 'xlsx'), 'xls');
    expect((await converted('sums.xls', xls, 'csv')).toString()).toMatch(/item,price\s+x,1\.50/);
    const inline = (text: string) => `<row r="1"><c r="A1" t="inlineStr"><is><t>${text}</t></is></c></row>`;
    const year = xlsx([
      { name: 'May', rows: inline('Mayword') },
      { name: 'June', rows: inline('Juneword') },
    ]);
    const old = await converted('year.xlsx', year, 'xls');
    const { bytes, warning } = await client.convertToBytes({ name: 'year.xls', data: old }, 'csv');
    expect(bytes.toString()).toMatch(/^Mayword\s+$/);
    expect(warning['SHEETS_LOST']).toMatch(/^Only the sheet May was converted, not June\./);
    expect(await textOf(await converted('sums.xls', xls, 'pdf'))).toMatch(/item[^]*1\.50/);
    expect((await converted('sums.ods', await converted('sums.xls', xls, 'ods'), 'csv')).toString()).toMatch(/x,1\.5/);
  });
});

withPrograms(['calc'], () => {
  it('keeps TRUE and FALSE of a spreadsheet, even with manual calculation', async () => {
    const rows = '<row r="1"><c r="A1" t="b"><v>1</v></c><c r="B1" t="b"><v>0</v></c></row>';
    for (const how of ['fullCalcOnLoad="1"', 'calcMode="manual"']) {
      const data = xlsx([{ rows }], { after: `<calcPr calcId="191029" ${how}/>` });
      expect(await textOf(await converted('a.xlsx', data, 'pdf'))).toMatch(/TRUE\s+FALSE/);
      for (const output of ['ods', 'xls']) {
        const file = await converted('a.xlsx', data, output);
        expect((await converted(`a.${output}`, file, 'csv')).toString()).toMatch(/TRUE,FALSE/);
      }
    }
  });

  it('prints dates, times and percentages of an ODS spreadsheet that defines no formats for them', async () => {
    const cells = [
      'date" office:date-value="2024-03-05"',
      'date" table:style-name="bold" office:date-value="2023-01-02T10:11:12"',
      'time" office:time-value="PT13H45M00S"',
      'percentage" office:value="0.255"',
      'currency" office:currency="EUR" office:value="1234.5"',
    ].map((value) => `<table:table-cell office:value-type="${value}><text:p>7</text:p></table:table-cell>`);
    const data = odf({
      kind: 'spreadsheet',
      automaticStyles:
        '<style:style style:name="bold" style:family="table-cell"><style:text-properties fo:font-weight="bold"/></style:style>',
      body: `<table:table table:name="A"><table:table-row>${cells.join('')}</table:table-row></table:table>`,
    });
    const text = await textOf(await converted('a.ods', data, 'pdf'));
    expect(text).toMatch(/2024-03-05\s+2023-01-02 10:11:12\s+13:45:00\s+25\.50%\s+1234\.50 EUR/);
  });
});

withPrograms(['impress'], () => {
  it('prints slides, and reads and writes old ones', async () => {
    const pptx = await converted('talk.md', '# One\n\nFirst\n\n# Two\n\nSecond\n', 'pptx');
    const odp = await converted('talk.ppt', await converted('talk.pptx', pptx, 'ppt'), 'odp');
    expect(await textOf(await converted('talk.odp', odp, 'pdf'))).toMatch(/One[^]*First[^]*\f[^]*Two[^]*Second/);
  });
});

withPrograms(['writer'], () => {
  it('starts again and succeeds if it is killed during a conversion', async () => {
    const data = await converted('report.md', report, 'docx');
    const converting = client.convert({ name: 'report.docx', data }, 'pdf');
    await until('it is killed', () => {
      const [pid] = processesBelow(process.pid, /soffice\.bin/);
      if (pid !== undefined) process.kill(pid, 'SIGKILL');
      return pid !== undefined;
    });
    expect((await converting).output.status).toBe('successful');
  });
});

withPrograms(['writer', 'calc', 'impress', 'math'], () => {
  it.each(['writer', 'calc', 'impress', 'math'] as const)(
    'the file that identifies %s belongs to its own package',
    (name) => {
      const { beside } = programs[name];
      const file = path.join(path.dirname(findProgram(programs[name]) ?? ''), beside);
      expect(spawnSync('dpkg', ['-S', file]).stdout.toString()).toMatch(new RegExp(`^libreoffice-${name}(-nogui)?:`));
    },
  );
});

withPrograms(['ffmpeg'], () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'film-'));

  function made(name: string, ...inputs: string[]): Buffer {
    const file = path.join(folder, name);
    const all = inputs.flatMap((input) => ['-f', 'lavfi', '-i', input]);
    execFileSync('ffmpeg', ['-v', 'error', '-y', ...all, file], { stdio: 'inherit' });
    return spawnSync('cat', [file]).stdout;
  }

  const sound = () => made('tone.wav', 'sine=duration=1');
  const film = () => made('film.mp4', 'testsrc=duration=1:size=64x48:rate=5', 'sine=duration=1');

  it.each([
    ['mp3', /^(ID3|\xff\xfb)/],
    ['flac', /^fLaC/],
    ['ogg', /^OggS/],
    ['opus', /^OggS[^]*OpusHead/],
    ['m4a', /^....ftypM4A/],
    ['aac', /^\xff\xf1/],
    ['aiff', /^FORM/],
    ['wma', /^0&\xb2u/],
  ])('converts sound to %s', async (output, start) => {
    expect((await converted('tone.wav', sound(), output)).toString('latin1')).toMatch(start);
  });

  it.each([
    ['webm', /^.E\xdf\xa3[^]*webm/],
    ['mkv', /^.E\xdf\xa3[^]*matroska/],
    ['mov', /^....ftypqt/],
    ['avi', /^RIFF....AVI/],
    ['flv', /^FLV/],
    ['wmv', /^0&\xb2u/],
    ['ts', /^G/],
    ['gif', /^GIF89a/],
    ['mp3', /^(ID3|\xff\xfb)/],
  ])('converts a film to %s', async (output, start) => {
    expect((await converted('film.mp4', film(), output)).toString('latin1')).toMatch(start);
  });
});

withPrograms(['tesseract'], () => {
  const words =
    'The quick brown fox jumps over the lazy dog. Payment is due within thirty days of receipt of this invoice.';

  const scan = async (): Promise<Buffer> =>
    converted('page.pdf', await converted('page.md', words, 'pdf'), 'png', { dpi: 200 });

  it('names the ticked boxes of a form, which the text lacks', async () => {
    const { warning } = await client.convertToBytes({ name: 'form.pdf', data: filledForm() }, 'txt');
    expect(warning).toEqual({ FORM_MARKS_LOST: expect.stringMatching(/^1 box\(es\) .*: agree\./) as string });
  });

  it('reads a scanned page with at most one word in twenty wrong', async () => {
    const picture = await scan();
    const pdf = await converted('scan.png', picture, 'pdf');
    for (const [name, data] of [
      ['scan.png', picture],
      ['scan.pdf', pdf],
    ] as const) {
      const found = new Set((await converted(name, data, 'txt')).toString().split(/\s+/));
      const wrong = words.split(' ').filter((word) => !found.has(word));
      expect(wrong.length).toBeLessThanOrEqual(words.split(' ').length / 20);
    }
  });

  it('says on how many pages it found no text', async () => {
    const blank = await sharp({ create: { width: 200, height: 200, channels: 3, background: 'white' } })
      .png()
      .toBuffer();
    for (const [name, data] of [
      ['blank.png', blank],
      ['blank.pdf', await converted('blank.png', blank, 'pdf')],
    ] as const) {
      const { warning } = await client.convertToBytes({ name, data }, 'txt');
      expect(warning).toEqual({ NO_TEXT: expect.stringMatching(/^In 1 of 1 page\(s\) no text was found/) as string });
    }
  });

  it('makes a searchable PDF if a language is given', async () => {
    const searchable = await converted('scan.png', await scan(), 'pdf', { ocr_language: 'eng' });
    expect(await textOf(searchable)).toMatch(/quick brown fox/);
  });

  it('reads only the scanned pages of a PDF, and keeps those with text', async () => {
    const { data: jpeg, info } = await sharp(await scan())
      .jpeg()
      .toBuffer({ resolveWithObject: true });
    const mixed = textAndScan('Typed words', { jpeg, width: info.width, height: info.height });
    const { bytes, warning } = await client.convertToBytes({ name: 'mixed.pdf', data: mixed }, 'pdf');
    const [first, second] = (await textOf(bytes)).split('\f');
    expect(first?.trim()).toBe('Typed words');
    expect(second).toMatch(/quick brown fox/);
    expect(warning).toEqual({});
  });

  it('copies a PDF with text, unless a language is given: then its pages become pictures with text', async () => {
    const form = filledForm();
    const copy = await client.convertToBytes({ name: 'form.pdf', data: form }, 'pdf');
    expect([copy.bytes.equals(form), Object.keys(copy.warning)]).toEqual([true, ['ALREADY_PDF']]);
    const read = await client.convertToBytes({ name: 'form.pdf', data: form }, 'pdf', { ocr_language: 'eng' });
    expect(await textOf(read.bytes)).toMatch(/Filled Jones[^]*Typed note/);
    expect(read.warning['PAGES_ARE_PICTURES']).toMatch(/^1 page/);
  });

  it('names the package of a missing language', async () => {
    expect(
      (await client.convert({ name: 'scan.png', data: await scan() }, 'txt', { ocr_language: 'tlh' })).error.message,
    ).toBe('Tesseract has no data for the language tlh here. Run: apt-get install tesseract-ocr-tlh');
  });
});

withPrograms(['chromium'], () => {
  it('prints a page with its styles, and with the requested paper size and margin', async () => {
    const data = '<style>body{background:#00f;margin:0}</style><p style="display:none">hidden</p>';
    const pdf = await converted('page.html', data, 'pdf', { page_size: 'letter', margin: 0 });
    const picture = sharp(await converted('page.pdf', pdf, 'png', { dpi: 72 }));
    const { width, height } = await picture.metadata();
    expect([width, height]).toEqual([612, 792]);
    const [r, g, b] = await picture.resize(1, 1).removeAlpha().raw().toBuffer();
    expect([r, g, b]).toEqual([0, 0, 255]);
  });

  it('prints embedded pictures, and warns of others', async () => {
    const inside = `data:image/svg+xml;base64,${Buffer.from(tinySvg).toString('base64')}`;
    const data = `<p>Größe</p><img src="${inside}"><img src="chart.png"><img src="https://example.com/x.png">
      <link rel="stylesheet" href="print.css"><link rel="icon" href="icon.png"><p style="background: url('paper.jpg')"></p>`;
    const { bytes, warning } = await client.convertToBytes({ name: 'page.html', data }, 'pdf');
    expect(await textOf(bytes)).toBe('Größe\n');
    expect(warning['RESOURCE_NOT_FOUND']).toMatch(
      /Left out, .*: https:\/\/example\.com\/x\.png, chart\.png, print\.css, paper\.jpg\./,
    );
  });

  const lines = (count: number) => Array.from({ length: count }, (_, n) => `Orderline${n + 1}`);

  it.each([
    ['html,body{height:100%;margin:0;overflow:hidden} main{height:100%;overflow-y:auto}', 'p'],
    ['main{height:6em;overflow:scroll}', 'div'],
  ])('prints content that a reader would have to scroll to: %s', async (style, tag) => {
    const data = `<style>${style}</style><main>${lines(120)
      .map((line) => `<${tag}>${line}</${tag}>`)
      .join('')}</main>`;
    const { bytes, warning } = await client.convertToBytes({ name: 'page.html', data }, 'pdf');
    expect(warning).toEqual({});
    expect((await textOf(bytes)).match(/Orderline\d+/g)).toEqual(lines(120));
  });

  it('scales down a page that is too wide, and names what still does not fit', async () => {
    const table = (count: number) =>
      `<table><tr>${lines(count)
        .map((cell) => `<td style="min-width:7em">${cell}</td>`)
        .join('')}</tr></table>`;
    const fits = await client.convertToBytes({ name: 'page.html', data: table(10) }, 'pdf');
    expect(fits.warning).toEqual({});
    expect((await textOf(fits.bytes)).match(/Orderline\d+/g)).toEqual(lines(10));
    const { warning } = await client.convertToBytes({ name: 'page.html', data: table(60) }, 'pdf');
    expect(warning['TEXT_LOST']).toMatch(/^Not on the pages of the PDF: \d+ word\(s\) \(ORDERLINE\d+/);
  });

  it('does not report screen reader text or text excluded from print as lost', async () => {
    const hidden = 'position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0 0 0 0)';
    const data = `<style>@media print{nav{display:none}}</style><nav>Menuword</nav><a style="${hidden}"><b>Skipword</b></a>
      <div style="position:absolute;left:-9999px;width:9em">Farword</div><p style="text-transform:uppercase">Shownword</p>`;
    const { bytes, warning } = await client.convertToBytes({ name: 'page.html', data }, 'pdf');
    expect(warning).toEqual({});
    expect((await textOf(bytes)).trim()).toContain('SHOWNWORD');
  });
});
