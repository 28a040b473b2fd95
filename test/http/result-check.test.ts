import { problemOfResult } from '../../src/http/result-check';

const problem = (start: string, output?: string, contentType?: string) =>
  problemOfResult({ start: Buffer.from(start, 'latin1'), contentType, output });

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
  // Several pages, each a picture.
  ['PK\x03\x04', 'png'],
  ['# A page', 'md'],
  ['<table>', 'html'],
  [page, 'html-standalone'],
  [page, 'xhtml'],
  // A text may be about HTML.
  [page, 'txt'],
  ['anything', 'a-format-of-tomorrow'],
  [page, undefined],
])('%j may be a result in %s', (start, output) => {
  expect(problem(start, output)).toBeUndefined();
});

it.each([
  [page, 'pdf', undefined, 'a web page came in place of the pdf file'],
  ['<html>', 'docx', undefined, 'a web page'],
  ['<h1>Bad Gateway</h1>', 'txt', 'text/html; charset=utf-8', 'a web page'],
  ['Bad Gateway', 'pdf', 'text/plain', 'does not begin like a pdf file'],
  ['RIFF1234WAVEfmt ', 'webp', undefined, 'does not begin like a webp file'],
  ['{"error":{"code":"BUSY"}}', 'mp3', 'application/json', 'does not begin like a mp3 file'],
  // Nobody asked for a password.
  ['\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'docx', undefined, 'does not begin like a docx file'],
  ['', 'txt', undefined, 'empty'],
  ['', undefined, undefined, 'empty'],
])('%j is no result in %s', (start, output, contentType, reason) => {
  expect(problem(start, output, contentType)).toContain(reason);
});
