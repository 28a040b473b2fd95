import { describeUnprinted } from '../../src/engines/completeness';
import { docx, para } from './docx';
import { printed } from './pdfs';
import { inline, xlsx } from './xlsx';

/** What the pages of a program do not show of an office file: pages written by hand in place of the program's. */

async function unprinted(reader: string, file: Buffer, line: string) {
  const request = {
    route: { engine: 'libreoffice', reader, writer: 'pdf' },
    inputPath: '',
    outputPath: '',
    title: 'a',
    inputFormat: reader,
    outputFormat: 'pdf',
    parameters: {},
    timeoutMs: 1_000,
  };
  return describeUnprinted(request, file, printed(line));
}

describe('what a program does not print', () => {
  it.each(['xlsx', 'xls'])(
    'are numbers in columns that are too narrow (%s), and no signs of a text',
    async (reader) => {
      const sheet = xlsx([{ rows: `<row r="1">${inline('A1', 'Rated ###')}<c r="B1"><v>1234567.5</v></c></row>` }]);
      const data = reader === 'xlsx' ? sheet : Buffer.from('of an old program');
      const line = reader === 'xlsx' ? 'Rated ### ### ###' : '### ###';
      expect(await unprinted(reader, data, line)).toEqual({
        CELLS_TOO_NARROW: expect.stringMatching(/^2 cell\(s\) show ### in place of a number or a date/) as string,
      });
    },
  );

  it('are cells of an area that is to be printed, and no others', async () => {
    const rows = `<row r="1">${inline('A1', 'Lost')}${inline('B1', 'Kept')}${inline('C1', 'Outside')}</row><row r="2">${inline('A2', 'Below')}</row>`;
    const after =
      '<definedNames><definedName name="_xlnm.Print_Area" localSheetId="0">\'A, b\'!$A$1:$B$1</definedName></definedNames>';
    expect(await unprinted('xlsx', xlsx([{ name: 'A, b', rows }], { after }), 'Kept')).toEqual({
      TEXT_LOST: 'Not on the pages of the PDF: 1 word(s) (LOST) of the document.',
    });
  });

  it('is the text of a diagram without a picture of it', async () => {
    const diagram = '<dgm:pt><dgm:t><a:p><a:r><a:t>Planned</a:t></a:r></a:p></dgm:t></dgm:pt>';
    expect(await unprinted('docx', docx(para('Kept'), { 'diagrams/data1': diagram }), 'Kept')).toEqual({
      TEXT_LOST: 'Not on the pages of the PDF: 1 word(s) (PLANNED) of the document.',
    });
  });

  it('is a file of another format within the document', async () => {
    expect(await unprinted('docx', docx(`${para('Kept')}<w:altChunk r:id="a"/>`), 'Kept')).toEqual({
      INSERTED_FILES_LOST: expect.stringMatching(/^1 file\(s\)/) as string,
    });
  });
});
