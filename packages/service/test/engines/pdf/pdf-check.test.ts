import { checkPdf } from '../../../src/engines/pdf/pdf-check';
import { convertPdf } from '../../../src/engines/pdf/pdf-reader';
import { requestOf } from '../requests';
import { commented, printed, unknownLetters, unseenText } from '../pdfs';

/** Unreadable content of a PDF that was made here. */

describe('a PDF made here', () => {
  it('loses words outside its pages, and clipped words', async () =>
    expect(await checkPdf(unseenText(), { text: 'Seen Below Clipped', isSet: false })).toEqual({
      TEXT_LOST: 'Not on the pages of the PDF: 2 word(s) (BELOW, CLIPPED) of the document.',
    }));

  it('loses no words after characters that it does not map to Unicode', async () =>
    expect(await checkPdf(unknownLetters(5, ' and the end'), { text: 'and the end', isSet: true })).toEqual({}));
});

describe('the text of a PDF', () => {
  const textOf = async (pdf: Buffer) => {
    const { data, warnings } = await convertPdf(requestOf('pdf', 'text'), pdf);
    return [Buffer.from(data).toString(), warnings];
  };

  it('is complete, with a warning that counts characters without a Unicode mapping', async () => {
    const warnings = { LETTERS_UNKNOWN: expect.stringMatching(/^Of 3 character/) as string };
    expect(await textOf(unknownLetters(3, ' and the end'))).toEqual(['\ufffd\ufffd\ufffd and the end\n', warnings]);
    expect(await textOf(printed('Known'))).toEqual(['Known\n', {}]);
  });

  it('keeps line ends, and hyphens at line ends', async () =>
    expect(await textOf(printed('in-) Tj 0 -14 Td (voices)  Tj 0 -14 Td (end'))).toEqual(['in-\nvoices\nend\n', {}]));
});

it.each(['text', 'png'])('counts comments and attachments that the pages of a PDF lose as %s', async (writer) => {
  const { data, warnings } = await convertPdf(requestOf('pdf', writer), commented('Known'));
  if (writer === 'text') expect(Buffer.from(data).toString()).toBe('Known\n');
  expect(warnings).toEqual({
    COMMENTS_LOST: '2 comment(s) on pages of the PDF are not in the result.',
    ATTACHMENTS_LOST: expect.stringMatching(/^2 file\(s\) attached to the PDF are not/) as string,
  });
});
