import { documentOf, fixedPitch, lineInlines } from './pandoc-document';
import { pageBreak } from './pdf-document';

/**
 * Text without markup as a pandoc document (JSON): an empty line ends a paragraph, every other line end is kept. Text in columns is set
 * in a fixed-pitch font, with all of its blanks; a form feed begins a page.
 */
export function plainTextDocument(text: string, writer: string): string {
  if (writer === 'plain') return documentOf([{ t: 'RawBlock', c: ['plain', text.trimEnd()] }]);
  const pages = text
    .split('\f')
    .filter((page, index, all) => page.trim() !== '' || (index > 0 && index < all.length - 1));
  const blocksOf = isInColumns(text) ? columnsOf : paragraphsOf;
  const breaks = pageBreaks[writer];
  return documentOf(
    pages.flatMap((page, index) =>
      index > 0 && breaks ? [{ t: 'RawBlock', c: breaks }, ...blocksOf(page)] : blocksOf(page),
    ),
  );
}

/** A style for paragraphs that begin a page, which pandoc's documents lack. */
export const breakStyle =
  '<style:style style:name="FormFeed" style:family="paragraph"><style:paragraph-properties fo:break-before="page"/></style:style>';
const webBreak = ['html', '<div style="break-before: page"></div>'];
/** As raw content for each writer; `typst` is for documents that become a PDF. */
const pageBreaks: Readonly<Record<string, readonly string[]>> = {
  docx: ['openxml', '<w:p><w:r><w:br w:type="page"/></w:r></w:p>'],
  odt: ['opendocument', '<text:p text:style-name="FormFeed"/>'],
  rtf: ['rtf', '\\page'],
  latex: ['latex', '\\newpage'],
  json: ['typst', pageBreak],
  ...Object.fromEntries(['html4', 'html5', 'epub2', 'epub3'].map((writer) => [writer, webBreak])),
};

/** Whether text is aligned in columns: with tabs, or with more blanks than separate sentences. */
function isInColumns(text: string): boolean {
  const gaps = text.match(/\S(?: {3,}|\t+)\S/g)?.length ?? 0;
  const small = text.match(/[^\s.!?:;,] {2}\S/g)?.length ?? 0;
  return gaps > 0 || small > 1;
}

function columnsOf(page: string) {
  const lines = page.replace(/^\n/, '').trimEnd().split('\n').map(withoutTabs);
  return [{ t: 'CodeBlock', c: [['', [fixedPitch], []], lines.join('\n')] }];
}

const tabStop = 8;

function withoutTabs(line: string): string {
  let shown = '';
  for (const part of line.split(/(\t)/)) {
    shown += part === '\t' ? ' '.repeat(tabStop - (shown.length % tabStop)) : part;
  }
  return shown;
}

function paragraphsOf(page: string) {
  const paragraphs = page.split(/\n[ \t]*\n+/).filter((paragraph) => paragraph.trim() !== '');
  return paragraphs.map((paragraph) => {
    const lines = paragraph.split('\n').filter((line) => line.trim() !== '');
    const inlines = lines.flatMap((line, index) => [
      ...(index === 0 ? [] : [{ t: 'LineBreak' }]),
      ...lineInlines(
        withoutTabs(line)
          .trimEnd()
          .replace(/^ +| +(?= )/g, (blanks) => '\u00a0'.repeat(blanks.length)),
      ),
    ]);
    return { t: 'Para', c: inlines };
  });
}
