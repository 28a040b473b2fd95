import { textOfPart } from '../../../src/engines/archive';
import { officeTexts } from '../../../src/engines/office/office-texts';
import { withUsualNames } from '../../../src/engines/office/xml-names';
import { zip, zipEntry } from '../archives';
import { docx, para, run } from '../docx';
import { odf, paragraph } from '../odf';

/** Office files with unusual namespace prefixes or in UTF-16, which readers do not support. */

const word = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main';
const body = (prefix: string) =>
  `<${prefix}body><${prefix}p><${prefix}r><${prefix}t w:space="1">Kept</${prefix}t></${prefix}r></${prefix}p></${prefix}body>`;
const usual = `<w:document xmlns:w="${word}">${body('w:')}</w:document>`;
const read = (xml: string | Buffer) =>
  textOfPart(withUsualNames(zip([zipEntry('word/document.xml', xml)])), 'word/document.xml');

it.each([
  [
    'another prefix',
    `<ns0:document xmlns:ns0="${word}">${body('ns0:').replace('w:space', 'ns0:space')}</ns0:document>`,
  ],
  ['none', `<document xmlns="${word}" xmlns:w="${word}">${body('')}</document>`],
  [
    'single quotes',
    `<ns0:document xmlns:ns0='${word}'>${body('ns0:').replace('w:space="1"', "ns0:space='1'")}</ns0:document>`,
  ],
])('elements with %s get the usual prefix', (_title, xml) => expect(read(xml)).toBe(usual));

it('uses the innermost declaration of a prefix', () => {
  const inner = (a: string, b: string) => `<${a}p xmlns${a === '' ? '' : ':w'}="${word}"><${a}r/></${a}p><${b}q/>`;
  expect(read(`<x:a xmlns:x="urn:x">${inner('', '')}<!-- <p> --></x:a>`)).toBe(
    `<x:a xmlns:x="urn:x">${inner('w:', '')}<!-- <p> --></x:a>`,
  );
});

it.each(['utf16le', 'utf16be'])('rewrites UTF-16 as UTF-8 (%s)', (order) => {
  const bytes = Buffer.from(`\ufeff<?xml version="1.0" encoding="UTF-16"?>${usual}`, 'utf16le');
  expect(read(order === 'utf16le' ? bytes : bytes.swap16())).toBe(`<?xml version="1.0" encoding="UTF-8"?>${usual}`);
});

it('leaves usual names unchanged, and reads the same text with other names', () => {
  const file = docx(para(run('Kept') + run('Secret', '<w:vanish/>')));
  expect(withUsualNames(file)).toBe(file);
  const open = odf({ kind: 'text', body: paragraph('Kept') });
  expect(withUsualNames(open)).toBe(open);
  const xml = textOfPart(file, 'word/document.xml').replace(/(?<=<\/?|\s|xmlns:)w(?=[:=])/g, 'ns0');
  expect(xml).toContain('<ns0:vanish/>');
  const texts = officeTexts('docx', zip([zipEntry('word/document.xml', xml)]));
  expect([texts?.body?.trim(), texts?.hidden]).toEqual(['Kept', 'Secret']);
});
