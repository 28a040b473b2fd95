import { checkPdf } from '../../src/engines/pdf-check';
import { unseenText } from './pdfs';

/** What a PDF that was made here holds, and nobody can read. */

describe('a PDF that is read back', () => {
  it('has lost the words outside of its pages, and those that are clipped', async () => {
    expect(await checkPdf(unseenText(), { text: 'Seen Below Clipped', isSet: false })).toEqual({
      TEXT_LOST: 'Not on the pages of the PDF: 2 word(s) (BELOW, CLIPPED) of the document.',
    });
  });
});
