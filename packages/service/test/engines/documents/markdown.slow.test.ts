import { serviceOfAllTests } from '../../support';

/** A `.md` file is GitHub Markdown; other dialects have their own format names. */

const { client } = serviceOfAllTests({ conversionConcurrency: 1 });

async function converted(data: string, output = 'html', parameters = {}): Promise<string> {
  const { bytes } = await client.convertToBytes({ name: 'a.md', data }, output, parameters);
  const [, body = bytes.toString('utf8')] = /<body>([^]*)<\/body>/.exec(bytes.toString('utf8')) ?? [];
  return body.replace(/\s+/g, ' ').trim();
}

describe('thematic breaks', () => {
  it('do not move the lines between them', async () => {
    const text = await converted('# Minutes\n\nBefore.\n\n---\nDate: 12 March\nDecision: PAY\n---\n\nAfter.\n', 'txt');
    expect(text).toMatch(/Minutes Before\. -+ Date: 12 March Decision: PAY After\./);
  });

  it('do not turn headings and paragraphs into tables', async () =>
    expect(await converted('# Talk\n\nIntro.\n\n---\n## Second slide\n\nText two.\n\n---\n\n- one\n')).toMatch(
      /<hr \/> <h2 id="second-slide">Second slide<\/h2> <p>Text two\.<\/p> <hr \/> <ul> <li>one<\/li>/,
    ));
});

describe('the block at the start of a file', () => {
  it('is metadata if it is YAML', async () =>
    expect(await converted('---\ntitle: T\ntags: [x]\n---\n\nBody')).toMatch(
      /<h1 class="title">T<\/h1> <\/header> <p>Body<\/p>/,
    ));

  it.each([
    ['title: Quarterly: the numbers', 'title: Quarterly: the numbers'],
    ['just text', 'just text'],
  ])('is text if it is not YAML: %s', async (block, shown) => {
    expect(await converted(`---\n${block}\n---\n\nBody`, 'txt')).toContain(`${shown} Body`);
  });
});

it.each(['txt', 'pdf', 'docx'])('names films and pages embedded as HTML that are lost in %s', async (output) => {
  const data =
    'A <video src="a.mp4"></video>\n\n<audio src="b.mp3"></audio>\n\n<iframe src="https://a.example/x"></iframe>\n\nB\n\n<iframe src="https://b.example/y"></iframe>\n';
  expect((await client.convertToBytes({ name: 'a.md', data }, output)).warning).toEqual({
    MEDIA_LOST: '2 film(s) or sound(s) of the document are not in the result.',
    RESOURCE_NOT_FOUND: expect.stringMatching(/a\.example\/x[^]*b\.example\/y/) as string,
  });
});

describe('Markdown', () => {
  it('supports footnotes, tasks, tables, strikethrough and bare links like GitHub', async () => {
    const html = await converted(
      '- [x] done\n- [ ] open\n\n~~gone~~ https://example.com x[^1]\n\n| a |\n|---|\n| b |\n\n[^1]: Foot\n',
    );
    expect(html).toMatch(
      /checked[^]*done[^]*<del>gone<\/del>[^]*<a href="https:\/\/example\.com"[^]*<td>b<\/td>[^]*Foot/,
    );
  });

  it('supports nothing beyond GitHub: no dollar formulas, simple tables, definitions or fancy lists', async () => {
    const html = await converted('Cost $5 and $10.\n\n a    b\n---- ----\n 1    2\n\nH~2~O 2^10^ @user\n\none\ntwo');
    expect(html).toContain('Cost $5 and $10.');
    expect(html).not.toMatch(/<table|<sup|citation|<br/);
    expect(html).toContain('<p>one two</p>');
  });

  it('supports formulas in math blocks, which are unambiguous', async () => {
    const html = await converted('For $5 and $10.\n\n```math\ny^3\n```\n');
    expect(html).toContain('For $5 and $10.');
    expect(html).toContain('<msup>');
  });

  it('gives no false warning about a mailto link in a PDF', async () => {
    const data = 'Write to <mailto:someone@example.org>.';
    expect((await client.convertToBytes({ name: 'a.md', data }, 'pdf')).warning).toEqual({});
  });

  it.each(['txt', 'docx', 'pdf'])('keeps embedded HTML, also as %s', async (format) => {
    const source =
      'A<br>B x<sub>2</sub>\n\n<table><tr><td>HTMLCELL</td></tr></table>\n\n<details>\n<summary>Summed</summary>\n\nHidden *text*\n\n</details>\n';
    const { bytes } = await client.convertToBytes({ name: 'a.md', data: source }, format);
    const text =
      format === 'txt' ? bytes : (await client.convertToBytes({ name: `a.${format}`, data: bytes }, 'txt')).bytes;
    expect(text.toString('utf8')).toMatch(/A\s+B x2\s+[^]*HTMLCELL[^]*Summed[^]*Hidden text/);
  });

  it.each(['txt', 'docx', 'pdf'])(
    'keeps HTML that is embedded in reStructuredText and Org, also as %s',
    async (format) => {
      const html = '<table><tr><td>Celled</td></tr></table>';
      const files = [
        { name: 'a.rst', data: `Title\n=====\n\n.. raw:: html\n\n   ${html}\n\nText\n` },
        { name: 'a.org', data: `Text\n\n#+BEGIN_EXPORT html\n${html}\n#+END_EXPORT\n` },
      ];
      for (const file of files) {
        const { bytes, warning } = await client.convertToBytes(file, format);
        const read = await client.convertToBytes({ name: `a.${format}`, data: bytes }, 'txt');
        expect(read.bytes.toString()).toMatch(/Celled[^]*Text|Text[^]*Celled/);
        expect(warning).toEqual({});
      }
    },
  );

  it.each(['txt', 'docx', 'pdf', 'html'])(
    'keeps LaTeX that is embedded in Org and reStructuredText, also as %s',
    async (format) => {
      const latex = '\\begin{equation}\n\\text{Balanced}\n\\end{equation}';
      const table = String.raw`\begin{tabular}{l}Celled\end{tabular}`;
      const files = [
        { name: 'a.org', data: `Text \\textbf{bold} on \\ref{Referred}\n\n${latex}\n\n${table}\n` },
        {
          name: 'a.rst',
          data: `Text bold on\n\n.. raw:: latex\n\n   \\ref{Referred} ${table}${latex.replaceAll('\n', '')}\n`,
        },
      ];
      for (const file of files) {
        const { bytes, warning } = await client.convertToBytes(file, format);
        const read = await client.convertToBytes({ name: `a.${format}`, data: bytes }, 'txt');
        for (const word of ['bold', 'Balanced', 'Celled', 'Referred']) expect(read.bytes.toString()).toContain(word);
        expect(warning).toEqual({});
      }
      const unknown = 'Text \\one{first} on\n\n\\begin{two}\nSecond\n\\end{two}\n';
      const { warning } = await client.convertToBytes({ name: 'a.org', data: unknown }, format);
      expect(warning['COMMANDS_LOST']).toMatch(/^2 LaTeX command\(s\).*: \\one, two\. /);
    },
  );

  it.each(['md-gfm', 'md-commonmark', 'md-mmd', 'md-phpextra', 'md-strict', 'md-pandoc'])(
    'keeps embedded HTML in each dialect: %s',
    async (input) => {
      const source =
        '<div>In a div</div>\n\n<p align="center">In a <b>paragraph</b></p>\n\n<table><tr><td>In a cell</td></tr></table>\n\n<details>\n<summary>Summed</summary>\nIn details\n</details>\n\nOne<br>two\n';
      expect(await converted(source, 'txt', { input })).toMatch(
        /In a div In a paragraph [^]*In a cell [^]*Summed In details One two$/,
      );
    },
  );

  it('of pandoc has its own name for reading and writing', async () => {
    expect(await converted(' a    b\n---- ----\n 1    2\n\n$x^2$ H~2~O', 'html', { input: 'md-pandoc' })).toMatch(
      /<td[^>]*>1<\/td>[^]*<msup>[^]*<sub>2<\/sub>/,
    );
    expect(await converted('# A {#b}', 'md-pandoc', { input: 'md-pandoc' })).toBe('# A {#b}');
    expect(await converted('| a |\n|---|\n| b |\n', 'md')).toBe('| a | |-----| | b |');
  });
});
