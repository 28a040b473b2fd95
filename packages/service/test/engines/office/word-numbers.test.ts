import { officeTexts } from '../../../src/engines/office/office-texts';
import { wordNumbers } from '../../../src/engines/office/word-numbers';
import { docx, para } from '../docx';

/** Numbers that Word generates and that its file does not contain. */

const level = (index: number, text: string, { format = 'decimal', style = '' } = {}) =>
  `<w:lvl w:ilvl="${index}"><w:start w:val="1"/><w:numFmt w:val="${format}"/>${style && `<w:pStyle w:val="${style}"/>`}<w:lvlText w:val="${text}"/></w:lvl>`;
const list = (id: number, ...levels: string[]) =>
  `<w:abstractNum w:abstractNumId="${id}">${levels.join('')}</w:abstractNum>`;
const numbered = (list: number, index: number) =>
  para('text', `<w:numPr><w:ilvl w:val="${index}"/><w:numId w:val="${list}"/></w:numPr>`);

describe('generated numbers of Word', () => {
  const numbering = [
    list(10, level(0, 'Article %1.'), level(1, '&#167; %1.%2'), level(2, '(%3)')),
    list(11, level(0, '%1.', { style: 'H1' }), level(1, '%1.%2', { style: 'H2' }), level(2, '-', { format: 'bullet' })),
    '<w:num w:numId="1"><w:abstractNumId w:val="10"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="11"/></w:num>',
  ].join('');
  const styles = ['H1', 'H2']
    .map(
      (id, index) =>
        `<w:style w:type="paragraph" w:styleId="${id}"><w:name w:val="heading ${index + 1}"/><w:pPr><w:numPr><w:numId w:val="2"/></w:numPr></w:pPr></w:style>`,
    )
    .join('');
  const numbersOf = (...body: string[]) => wordNumbers(docx(body.join(''), { numbering, styles }));

  it('are lost if they are more than a number, but not if other lists have the same', () => {
    expect(numbersOf(numbered(1, 0), numbered(1, 1), numbered(1, 1))).toEqual(['Article 1.', '§ 1.1', '§ 1.1']);
    expect(numbersOf(numbered(1, 2), numbered(2, 0), numbered(2, 2), para('text'))).toEqual([]);
  });

  it('of headings are lost, even if they come from a style', () => {
    const heading = (style: string, more = '') => para('text', `<w:pStyle w:val="${style}"/>${more}`);
    expect(numbersOf(heading('H1'), heading('H2'))).toEqual(['1.', '1.1']);
    expect(numbersOf(heading('H1', '<w:numPr><w:numId w:val="0"/></w:numPr>'))).toEqual([]);
  });

  it('in RTF are lost if pandoc turns them into plain ones, but not if they are letters or symbols', () => {
    const rtf = String.raw`{\rtf1{\listtext\pard 1.\tab}a\par{\listtext\u167\'a7 2.\tab}b\par{\listtext 1.1\tab}c\par{\listtext b)}d{\listtext o\tab}e{\listtext\'b7}f}`;
    expect(officeTexts('rtf', Buffer.from(rtf))?.numbers).toEqual(['§ 2.', '1.1']);
  });
});
