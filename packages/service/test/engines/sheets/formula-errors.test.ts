import { describeUnkept, describeUnprinted } from '../../../src/engines/completeness';
import { printed } from '../pdfs';
import { requestOf } from '../requests';
import { inline, xlsx } from '../xlsx';

const unprinted = async (reader: string, file: Buffer, line: string) =>
  describeUnprinted(requestOf(reader, 'pdf'), file, printed(line));

it('reports formulas that LibreOffice cannot calculate, but not errors stored in the file itself', async () => {
  const error = { FORMULAS_NOT_CALCULATED: expect.stringMatching(/^1 cell\(s\) show an error/) as string };
  const sheet = (text: string) => xlsx([{ rows: `<row r="1">${inline('A1', text)}</row>` }]);
  expect(await unprinted('xlsx', sheet('Kept'), 'Kept Err:509')).toEqual(error);
  expect(await unprinted('xlsx', sheet('About Err:509'), 'About Err:509')).toEqual({});
  const unknown = xlsx([{ rows: '<row r="1"><c r="A1" t="e"><f>OWN()</f><v>#NAME?</v></c></row>' }]);
  expect(await unprinted('xlsx', sheet('Kept'), 'Kept #NAME?')).toEqual(error);
  expect(await unprinted('xlsx', unknown, '#NAME?')).toEqual({});
  const absent = (value: string) =>
    xlsx([{ rows: `<row r="1">${inline('A1', 'Kept')}<c r="B1" t="e"><f>NA()</f><v>${value}</v></c></row>` }]);
  for (const value of ['#N/A', '#REF!', '#DIV/0!']) {
    expect(await unprinted('xlsx', absent(value), `Kept ${value}`)).toEqual({});
    expect(await unprinted('xlsx', sheet('Kept'), `Kept ${value}`)).toEqual(error);
    const data = absent(value);
    expect(await describeUnkept(requestOf('xlsx', 'xlsx'), data, { format: 'xlsx', data })).toEqual({});
    expect(await describeUnkept(requestOf('xlsx', 'xlsx'), sheet('Kept'), { format: 'xlsx', data })).toEqual(error);
  }
  const [old, copy] = [Buffer.from('of an old program'), { ...requestOf('xlsx', 'pdf'), inputFormat: 'xls' }];
  expect(await unprinted('xls', old, 'Kept #N/A')).toEqual({});
  expect(await describeUnprinted(copy, unknown, printed('#MACRO?'))).toEqual(error);
  const own = { format: 'xlsx', data: unknown };
  expect(await describeUnkept(copy, unknown, own)).toEqual(error);
  expect(await describeUnkept(requestOf('xls', 'xlsx'), old, own)).toEqual(error);
  const result = { format: 'xlsx', data: sheet('Kept Err:509') };
  expect(await describeUnkept(requestOf('xlsx', 'xlsx'), sheet('Kept'), result)).toEqual(error);
});
