import { engineNamesOfNpm } from '../../src/engines/engine';
import { serviceOfAllTests } from '../support';
import { zip, zipEntry } from './archives';

/** Nothing of pages, books and LaTeX is lost without a warning that pandoc by itself leaves out. */

const running = serviceOfAllTests({ conversionConcurrency: 1, engines: engineNamesOfNpm });

async function converted(name: string, data: string | Buffer, output = 'txt') {
  const { bytes, warning } = await running.client.convertToBytes({ name, data }, output);
  const isPdf = output === 'pdf';
  const text = isPdf ? (await running.client.convertToBytes({ name: 'a.pdf', data: bytes }, 'txt')).bytes : bytes;
  return { text: text.toString('utf8').split(/\s+/).join(' ').trim(), warning };
}

describe('a page', () => {
  const around = (tag: string) => `<header>Company</header><${tag}><p>Thanks</p></${tag}><footer>Account</footer>`;

  it.each(['txt', 'md', 'pdf'])('with a main part keeps what stands beside it, as %s', async (output) => {
    const { text, warning } = await converted('a.html', around('main'), output);
    expect(text).toMatch(/Company[^]*Thanks[^]*Account/);
    expect(warning).toEqual({});
  });

  it('within Markdown does too', async () => {
    expect((await converted('a.md', around('main'))).text).toBe('Company Thanks Account');
  });
});

describe('a book', () => {
  const item = (id: string, more = '') =>
    `<item id="${id}" href="${id}.xhtml" media-type="application/xhtml+xml"${more}/>`;
  const page = (body: string) => `<html xmlns="http://www.w3.org/1999/xhtml"><body>${body}</body></html>`;

  it('keeps pages beside its order of reading, and all of a page', async () => {
    const opf = `<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata/><manifest>${item('a')}${item('b')}${item('n', ' properties="nav"')}</manifest><spine><itemref idref="n" linear="no"/><itemref idref="a"/><itemref idref="b" linear="no"/></spine></package>`;
    const container =
      '<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="a.opf" media-type="application/oebps-package+xml"/></rootfiles></container>';
    const files = {
      mimetype: 'application/epub+zip',
      'META-INF/container.xml': container,
      'a.opf': opf,
      'a.xhtml': page('<main>Chapter</main><footer>Beside</footer>'),
      'b.xhtml': page('<p>Answers</p>'),
      'n.xhtml': page('<nav>Contents</nav>'),
    };
    const book = zip(Object.entries(files).map(([name, data]) => zipEntry(name, data)));
    expect(await converted('a.epub', book)).toEqual({ text: 'Chapter Beside Answers', warning: {} });
  });
});
