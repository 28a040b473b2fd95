import { readMultipartForm } from '../../src/http/form';

const type = 'multipart/form-data; boundary=b';

function read(text: string, contentType = type) {
  return readMultipartForm(Buffer.from(text), contentType);
}

const data = (value: string): string => `--b\r\nContent-Disposition: form-data; name="data"\r\n\r\n${value}\r\n`;

const dataField = (value: string) => ({ name: 'data', isFile: false, value });

describe('a multipart form in memory', () => {
  it('gives every field, whatever stands around the form, and of a file only its name', () => {
    const file = '--b\r\ncontent-disposition: form-data; name="file"; filename="x"\r\n\r\nbytes\r\n';
    const nameless = '--b\r\ncontent-disposition: form-data\r\n\r\nx\r\n';
    expect(read(`preamble\r\n${file}${nameless}${data('{"é": 1}')}--b--\r\nepilogue`)).toEqual([
      { name: 'file', isFile: true, value: '' },
      { name: '', isFile: false, value: 'x' },
      { name: 'data', isFile: false, value: '{"é": 1}' },
    ]);
  });

  it('reads header names in any case, bare names, more headers, and a quoted boundary', () => {
    const part =
      '--b\r\nCONTENT-TYPE: application/json\r\nCONTENT-DISPOSITION: form-data; name=data\r\n\r\n{}\r\n--b--';
    expect(read(part, 'multipart/form-data; charset=utf-8; boundary="b"')).toEqual([dataField('{}')]);
  });

  it('keeps line ends and dashes of the value', () => {
    expect(read(`${data('a\r\n--c\r\n\r\nb')}--b--`)).toEqual([dataField('a\r\n--c\r\n\r\nb')]);
  });

  it('has no field when there is no part', () => {
    expect(read('--b--\r\n')).toEqual([]);
  });

  it('shows a field that is sent twice as two values', () => {
    expect(read(`${data('1')}${data('2')}--b--`)).toEqual([dataField('1'), dataField('2')]);
  });

  it.each([
    ['is cut off', data('1')],
    ['is empty', ''],
    ['has another boundary', '--c\r\n\r\n--c--'],
  ])('is refused when it %s', (_title, text) => {
    expect(() => read(text)).toThrow(/^The field data is invalid[.:]/);
  });

  it('is refused without a boundary', () => {
    expect(() => read('--b--', 'multipart/form-data')).toThrow(/^The field data is invalid[.:]/);
  });
});
