import { problemOfEnd, problemOfResult } from '../../src/http/result-check';

const problem = (start: string, output?: string, contentType?: string, isSized = false) =>
  problemOfResult({ start: Buffer.from(start, 'latin1'), contentType, output, isSized });

/** The beginning of a zip file. */
const entry = (name: string) => `PK\x03\x04${'\0'.repeat(26)}${name}`;
/** The beginning of a Matroska file; seven bytes with the length of the rest follow. */
const segment = '\x1a\x45\xdf\xa3\x84data\x18\x53\x80\x67\x01';
/** The end of a zip file. */
const directory = (...names: string[]) => {
  const entries = names.map((name) => `PK\x01\x02${'\0'.repeat(42)}${name}`).join('');
  return `${entries}PK\x05\x06${'\0'.repeat(8)}${String.fromCharCode(entries.length)}${'\0'.repeat(9)}`;
};
/** The same, of a zip whose directory begins there. */
const directoryAt = (start: number, ...names: string[]) =>
  `${directory(...names).slice(0, -6)}${String.fromCharCode(start)}${'\0'.repeat(5)}`;

const storeError =
  '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>NoSuchKey</Code><Message>It does not exist.</Message></Error>';

const page = '\n<!-- proxy -->\n<!DOCTYPE html><html><body>502</body></html>';

it.each([
  ['%PDF-1.7', 'pdf'],
  ['a printer may write this first\n%PDF-1.4', 'pdf'],
  ['PK\x03\x04', 'docx'],
  ['\xff\xd8\xff\xe0', 'jpg'],
  ['II*\0', 'tiff'],
  ['MM\0*', 'tif-g4'],
  ['RIFF1234WEBP', 'webp'],
  ['RIFF1234WAVEfmt ', 'wav'],
  ['\0\0\0\x20ftypisom', 'mp4'],
  ['ID3\x04', 'mp3'],
  ['\xff\xfb\x90', 'mp3'],
  ['OggS\0', 'opus'],
  ['{\\rtf1', 'rtf'],
  ['MM\0+', 'tiff'],
  // Several pages, each an image.
  [entry('page-1.png'), 'png'],
  [entry('mimetype'), 'epub'],
  [entry('[Content_Types].xml'), 'xlsx'],
  ['# A page', 'md'],
  ['<table>', 'html'],
  [page, 'html-standalone'],
  [page, 'xhtml'],
  // A text may be about HTML.
  [page, 'txt'],
  ['GIF89a is a format of pictures', 'txt'],
  ['%PDF-1.7 is how it begins', 'md'],
  // The texts of several pages.
  [entry('page-1.txt'), 'txt'],
  ['\xef\xbb\xbf\n[1]', 'json'],
  ['null', 'json'],
  ['\xff\xfe{\0', 'json'],
  ['{\0', 'json'],
  ['\xd0\xcf\x11\xe0', 'xls'],
  ['{\\rtf1', 'doc'],
  ['\xef\xbb\xbf{\\rtf1', 'rtf'],
  ['<?xml version="1.0"?>\n<svg>', 'svg'],
  ['<svg:svg ', 'svg'],
  ['RIFF1234AVI LIST', 'avi'],
  ['\0\0\0\x08wide\0\0\0\x18mdat', 'mov'],
  ['\0\0\0\xff\xfb', 'mp3'],
  ['\x1b%-12345X@PJL\n%!PS-Adobe-3.0', 'ps'],
  ['RIFF or WAVE files are containers', 'txt'],
  ['\xff\xd8\xff in Latin-1', 'txt'],
  ['anything', 'a-format-of-tomorrow'],
  [page, undefined],
])('%j may be a result in %s', (start, output) => expect(problem(start, output)).toBeUndefined());

it.each([
  [page, 'pdf', undefined, 'a web page came in place of the pdf file'],
  ['<html>', 'docx', undefined, 'a web page'],
  ['<h1>Bad Gateway</h1>', 'txt', 'text/html; charset=utf-8', 'a web page'],
  ['Bad Gateway', 'pdf', 'text/plain', 'does not begin like a pdf file'],
  [storeError, 'txt', 'application/xml', "a store's error came in place of the txt file"],
  [storeError, 'xml', undefined, "a store's error"],
  [page, 'xml', 'text/html', 'a web page'],
  [page, 'svg', undefined, 'a web page came in place of the svg file'],
  ['{"message":"Internal server error"}', 'doc', 'application/json', 'does not begin like a doc file'],
  ['\x89PNG\r\n', 'mov', undefined, 'does not begin like a mov file'],
  ['RIFF1234WAVEfmt ', 'webp', undefined, 'does not begin like a webp file'],
  ['{"error":{"code":"BUSY"}}', 'mp3', 'application/json', 'does not begin like a mp3 file'],
  // No password was asked for, so this is not an encrypted docx.
  ['\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'docx', undefined, 'does not begin like a docx file'],
  [entry('[Content_Types].xml'), 'pdf', undefined, 'does not begin like a pdf file'],
  [entry('word/document.xml'), 'png', undefined, 'does not begin like a png file'],
  [entry('mimetype'), 'docx', undefined, 'does not begin like a docx file'],
  [entry('[Content_Types].xml'), 'odt', undefined, 'does not begin like a odt file'],
  [page, 'json', undefined, 'a web page came in place of the json file'],
  ['Bad Gateway', 'json', 'text/plain', 'does not begin like a json file'],
  ['\n', 'json', undefined, 'does not begin like a json file'],
  [`\xef\xbb\xbf${page}`, 'txt', 'text/html', 'a web page'],
  [`<?xml version="1.0"?>${page}`, 'md', 'application/xhtml+xml', 'a web page'],
  ['<p>Sign in to continue</p>', 'csv', 'text/html', 'a web page'],
  ['\x89PNG\r\n\x1a\n', 'txt', undefined, 'not text'],
  ['%PDF-1.7\n1 0 obj', 'html', undefined, 'not text'],
  ['GIF89a\x01\0', 'csv', undefined, 'not text'],
  ['\x1f\x8b\x08\0', 'html', undefined, 'not text'],
  ['\0\0\0\0', 'txt', undefined, 'not text'],
  [entry('[Content_Types].xml'), 'md-gfm', undefined, 'not text'],
  ['', 'txt', undefined, 'empty'],
  ['', undefined, undefined, 'empty'],
])('%j is not a result in %s', (start, output, contentType, reason) => {
  expect(problem(start, output, contentType)).toContain(reason);
});

it.each([
  ['<p align="center">', 'md'],
  ['\xff\xfea\0', 'txt'],
  ['\0\0\xfe\xff\0\0\0a', 'txt'],
  ['{"error":{}}', 'txt'],
  ['{{ title }}', 'html'],
  ['["a"]', 'html'],
  [storeError, 'xml'],
])('%j of the announced size may be a result in %s, whatever its type', (start, output) =>
  expect(problem(start, output, 'text/html', true)).toBeUndefined(),
);

it.each([
  ['{"error":{}}', 'html', 'JSON came'],
  [storeError, 'svg', "a store's error came"],
  [storeError, 'xls', "a store's error came"],
  [storeError, 'html', "a store's error came"],
])('%j is no result in %s, even of the announced size', (start, output, reason) =>
  expect(problem(start, output, undefined, true)).toContain(reason),
);

describe('the end of a body', () => {
  const told = (start: string, end: string, { output = 'pdf', isSized = false } = {}) => {
    const [first, last] = [Buffer.from(start, 'latin1'), Buffer.from(end, 'latin1')];
    return problemOfEnd({ start: first, end: last, output, isSized, bytes: first.length + last.length });
  };

  it.each([
    ['%PDF-1.7', '%%EOF\n', {}],
    ['%PDF-1.7', 'cut by a service that announced it so', { isSized: true }],
    [entry('a.xml'), directory('word/document.xml'), { output: 'docx' }],
    [entry('a.xml'), directory('xl/workbook.bin'), { output: 'xlsb' }],
    // Data of a chart, which is not compressed.
    [entry('a.xml'), `${directory('xl/workbook.xml')}${directory('ppt/presentation.xml')}`, { output: 'pptx' }],
    // A line is appended.
    [entry('a.xml'), `${directoryAt(entry('a.xml').length, 'word/document.xml')}\n`, { output: 'docx' }],
    // Two results in one file, each of the format.
    [entry('1.docx'), directory('1.docx', '2.docx'), { output: 'docx' }],
    [entry('mimetype'), directory('mimetype', 'content.xml'), { output: 'odt' }],
    ['# A text', 'to its end', { output: 'md' }],
    ['\x89PNG', 'IEND\xae\x42\x60\x82', { output: 'png' }],
    ['\xff\xd8\xff', '\xff\xd9', { output: 'jpg' }],
    ['{"a":', '1}\n', { output: 'json' }],
    ['[{"a":1}', ']', { output: 'json' }],
    // One value per line.
    ['[1]', '\n{"a": 1}', { output: 'json' }],
    ['"', 'text"', { output: 'json' }],
    ['{\0"\0', '}\0', { output: 'json' }],
    ['RIFF\x08\0\0\0WEBP', 'VP8 ', { output: 'webp' }],
    // Written to a pipe, so the length is unknown.
    ['RIFF\xff\xff\xff\xffWAVE', 'data', { output: 'wav' }],
    [`BM\x10\0\0\0${'\0'.repeat(8)}`, '\0\0', { output: 'bmp' }],
    ['RIFF\x08\0\0\0AVI ', 'LIST', { output: 'avi' }],
    [`${segment}\0\0\0\0\0\0\x04`, 'data', { output: 'mkv' }],
    [`${segment}\xff\xff\xff\xff\xff\xff\xff`, 'data', { output: 'webm' }],
    ['GIF89a', '\0;', { output: 'gif' }],
    ['{\\rtf1', '}}\r\n\0', { output: 'rtf' }],
    ['<?xml version="1.0"?><a>', '</a>\n<!-- its end -->\n', { output: 'xml' }],
    ['<?xml version="1.0"?><a>', 'cut', { output: 'xml', isSized: true }],
    ['<svg>', '<path/></svg>\n<!-- its end -->', { output: 'svg' }],
    ['<svg:svg width="1"', '<svg:svg width="1"/>', { output: 'svg' }],
    ['<?xml version="1.0"?><x:svg>', '</x:svg >', { output: 'svg' }],
    // HTML may omit its closing tags.
    ['<!doctype html>', 'to its end', { output: 'html' }],
    [`${entry('mimetype')}application/vnd.oasis.opendocument.text-template`, directory('mimetype'), { output: 'odt' }],
  ])('%j ... %j is accepted', (start, end, expected) => expect(told(start, end, expected)).toBeUndefined());

  it.each([
    ['RIFF\x09\0\0\0WEBP', 'VP8 ', { output: 'webp' }, 'the end of the webp file is missing'],
    ['RIFF\x09\0\0\0WAVE', 'data', { output: 'wav' }, 'the end of the wav file'],
    [`BM\x20\0\0\0${'\0'.repeat(8)}`, '\0\0', { output: 'bmp' }, 'the end of the bmp file'],
    ['RIFF\x09\0\0\0AVI ', 'LIST', { output: 'avi' }, 'the end of the avi file'],
    [`${segment}\0\0\0\0\0\0\x05`, 'data', { output: 'mkv' }, 'the end of the mkv file'],
    ['GIF89a', 'cut', { output: 'gif' }, 'the end of the gif file'],
    // Ends like an element of the list.
    ['[{"a":1},', '\n  {"a":2}', { output: 'json' }, 'the end of the json file'],
    ['\xff\xd8\xff', `\xff\xd9${'cut'.repeat(500)}`, { output: 'jpg' }, 'the end of the jpg file'],
    ['%PDF-1.7', `%%EOF${'cut'.repeat(500)}`, {}, 'the end of the pdf file'],
    [entry('1.zip'), `${directory('a')}cut`, { output: 'zip' }, 'the end of the zip file'],
    ['{\\rtf1', '} cut', { output: 'rtf' }, 'the end of the rtf file'],
    ['<?xml version="1.0"?><a>', '</a><b', { output: 'xml' }, 'the end of the xml file'],
    ['<svg>', '<path/>', { output: 'svg' }, 'the end of the svg file'],
    [entry('a.xml'), directory('word/document.xml').slice(0, -12), { output: 'docx' }, 'the end of the docx file'],
    [`${entry('mimetype')}application/epub+zip`, directory('mimetype'), { output: 'odt', isSized: true }, 'not odt'],
    ['%PDF-1.7', 'cut', {}, 'the end of the pdf file is missing'],
    ['\x89PNG', 'cut', { output: 'png' }, 'the end of the png file is missing'],
    ['\xff\xd8\xff', 'cut', { output: 'jpg' }, 'the end of the jpg file is missing'],
    ['\xef\xbb\xbf\n[1', ',1,', { output: 'json' }, 'the end of the json file is missing'],
    [entry('a.xml'), 'cut', { output: 'docx' }, 'the end of the docx file is missing'],
    [entry('a.xml'), directory('xl/workbook.xml'), { output: 'docx' }, 'not docx: it holds xl/workbook'],
    [entry('a.xml'), directory('word/document.xml'), { output: 'xlsx', isSized: true }, 'not xlsx'],
  ])('%j ... %j is rejected', (start, end, expected, reason) => expect(told(start, end, expected)).toContain(reason));
});
