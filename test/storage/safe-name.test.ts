import { cutToBytes, makeSafeName, numberName } from '../../src/storage/file-name';

describe('makeSafeName', () => {
  it.each(['report.pdf', 'März 2026 – Café.docx', '発注書.tar.gz', 'a', 'README', "it's (1) & more, ok.txt", 'x.part'])(
    'leaves %j unchanged',
    (name) => expect(makeSafeName(name)).toBe(name),
  );

  it.each([
    ['../../etc/passwd', 'passwd'],
    ['/etc/passwd', 'passwd'],
    ['C:\\Windows\\system32\\cmd.exe', 'cmd.exe'],
    ['a/b\\c.pdf', 'c.pdf'],
    ['folder/', 'folder'],
    ['..', 'output'],
    ['.', 'output'],
    ['', 'output'],
    ['///', 'output'],
    ['\u0000', 'output'],
    ['.bashrc', 'bashrc'],
    ['...x.pdf', 'x.pdf'],
    ['name. . .', 'name'],
    ['a\u0000b\r\nc\u001b[0m.pdf', 'abc[0m.pdf'],
    ['invoice\u202efdp.exe', 'invoicefdp.exe'],
    ['what? <a>:"b"|*.txt', 'what_ _a___b___.txt'],
    ['CON', '_CON'],
    ['nul.txt', '_nul.txt'],
    ['com1.tar.gz', '_com1.tar.gz'],
    ['console.txt', 'console.txt'],
    ['half \ud83d.txt', 'half \ufffd.txt'],
  ])('turns %j into %j', (suggested, name) => expect(makeSafeName(suggested)).toBe(name));

  it('cuts a name to 255 bytes, between characters, and keeps the extension', () => {
    const name = makeSafeName(`${'発'.repeat(200)}.docx`);
    expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255);
    expect(Buffer.byteLength(name)).toBeGreaterThan(250);
    expect(name).toMatch(/^発+\.docx$/);
  });

  it('cuts an extension that is longer than any real one', () =>
    expect(Buffer.byteLength(makeSafeName(`a.${'x'.repeat(400)}`))).toBe(255));
});

it('numberName puts the number before the extension and stays within 255 bytes', () => {
  expect([numberName('report.pdf', 2), numberName('README', 1)]).toEqual(['report (2).pdf', 'README (1)']);
  const long = numberName(`${'x'.repeat(251)}.pdf`, 12);
  expect(Buffer.byteLength(long)).toBe(255);
  expect(long).toMatch(/x \(12\)\.pdf$/);
});

it('cutToBytes never splits a character', () => {
  expect([cutToBytes('aé日😀', 3), cutToBytes('aé日😀', 5), cutToBytes('aé日😀', 6)]).toEqual(['aé', 'aé', 'aé日']);
  expect(cutToBytes('aé日😀', 10)).toBe('aé日😀');
});
