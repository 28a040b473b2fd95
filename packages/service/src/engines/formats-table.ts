/** The engines that convert; a PDF is pandoc's typst source, typeset. */
export type Engine = 'sharp' | 'pandoc' | 'typst-pdf';

/** What an engine calls a format when it reads or writes it. */
export interface Codec {
  readonly engine: Engine;
  readonly name: string;
}

export interface FormatRow {
  /** First part of the public name: `md` in `md-gfm`. */
  readonly format: string;
  /** Second part of the public name, for a variant that shares the file extension. */
  readonly type: string | null;
  /** The first one names output files; the others are aliases. */
  readonly extensions: readonly [string, ...string[]];
  readonly title: string;
  readonly categories: readonly string[];
  readonly mediaType: string;
  readonly reads: Codec | null;
  readonly writes: Codec | null;
}

/** Our own reader in front of pandoc, which has none for text without markup. */
export const plainTextReader = 'plain-text';

const mediaTypes: Readonly<Record<string, string>> = {
  adoc: 'text/asciidoc',
  avif: 'image/avif',
  csv: 'text/csv',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  epub: 'application/epub+zip',
  gif: 'image/gif',
  html: 'text/html; charset=utf-8',
  ipynb: 'application/x-ipynb+json',
  jpg: 'image/jpeg',
  json: 'application/json',
  md: 'text/markdown; charset=utf-8',
  odt: 'application/vnd.oasis.opendocument.text',
  pdf: 'application/pdf',
  png: 'image/png',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  rtf: 'application/rtf',
  svg: 'image/svg+xml',
  tex: 'application/x-tex',
  tiff: 'image/tiff',
  tsv: 'text/tab-separated-values',
  txt: 'text/plain; charset=utf-8',
  webp: 'image/webp',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  xml: 'application/xml',
};

type Row = [name: string, extensions: string, title: string, categories: string, reads: string, writes: string];

/** Public name, extensions, title, categories, name of the reader, name of the writer; `-` where there is none. */
const imageRows: Row[] = [
  ['avif', 'avif', 'AV1 Image File Format', 'image', 'avif', 'avif'],
  ['gif', 'gif', 'Graphics Interchange Format', 'image', 'gif', 'gif'],
  ['jpg', 'jpg jpeg jpe jfif', 'JPEG', 'image', 'jpeg', 'jpeg'],
  ['png', 'png', 'Portable Network Graphics', 'image', 'png', 'png'],
  ['svg', 'svg', 'Scalable Vector Graphics', 'image vector', 'svg', '-'],
  ['tiff', 'tiff tif', 'Tagged Image File Format', 'image', 'tiff', 'tiff'],
  ['webp', 'webp', 'WebP', 'image', 'webp', 'webp'],
];

const documentRows: Row[] = [
  ['adoc', 'adoc asciidoc', 'AsciiDoc', 'document markup', 'asciidoc', 'asciidoc'],
  ['bib', 'bib', 'BibLaTeX', 'bibliography', 'biblatex', 'biblatex'],
  ['bib-bibtex', 'bib', 'BibTeX', 'bibliography', 'bibtex', 'bibtex'],
  ['creole', 'creole', 'Creole', 'document markup wiki', 'creole', '-'],
  ['csv', 'csv', 'Comma-Separated Values', 'spreadsheet data', 'csv', '-'],
  ['djot', 'djot dj', 'Djot', 'document markup', 'djot', 'djot'],
  ['docx', 'docx', 'Microsoft Word', 'document', 'docx', 'docx'],
  ['epub', 'epub', 'EPUB 3', 'ebook', 'epub', 'epub3'],
  ['epub-epub2', 'epub', 'EPUB 2', 'ebook', 'epub', 'epub2'],
  ['fb2', 'fb2', 'FictionBook', 'ebook', 'fb2', 'fb2'],
  ['html', 'html htm xhtml', 'HTML', 'document markup web', 'html', 'html5'],
  ['html-html4', 'html htm', 'HTML 4', 'document markup web', '-', 'html4'],
  ['html-revealjs', 'html htm', 'reveal.js slides', 'presentation web', '-', 'revealjs'],
  ['html-slidy', 'html htm', 'Slidy slides', 'presentation web', '-', 'slidy'],
  ['icml', 'icml', 'Adobe InCopy', 'document', '-', 'icml'],
  ['ipynb', 'ipynb', 'Jupyter Notebook', 'document data', 'ipynb', 'ipynb'],
  ['json-csl', 'json', 'CSL JSON', 'bibliography data', 'csljson', 'csljson'],
  ['json-pandoc', 'json', 'Pandoc document (JSON)', 'document data', 'json', 'json'],
  ['man', 'man 1 2 3 4 5 6 7 8', 'Manual page', 'document markup', 'man', 'man'],
  ['man-mdoc', 'man 1 2 3 4 5 6 7 8', 'Manual page (mdoc)', 'document markup', 'mdoc', '-'],
  ['md', 'md markdown mdown mkd', 'Markdown', 'document markup', 'markdown', 'markdown'],
  ['md-commonmark', 'md markdown', 'Markdown (CommonMark)', 'document markup', 'commonmark', 'commonmark'],
  ['md-gfm', 'md markdown', 'Markdown (GitHub)', 'document markup', 'gfm', 'gfm'],
  ['md-markua', 'md', 'Markua', 'document markup', '-', 'markua'],
  ['md-mmd', 'md markdown', 'Markdown (MultiMarkdown)', 'document markup', 'markdown_mmd', 'markdown_mmd'],
  ['md-phpextra', 'md', 'Markdown (PHP Extra)', 'document markup', 'markdown_phpextra', 'markdown_phpextra'],
  ['md-strict', 'md markdown', 'Markdown (original)', 'document markup', 'markdown_strict', 'markdown_strict'],
  ['ms', 'ms', 'roff ms', 'document markup', '-', 'ms'],
  ['muse', 'muse', 'Emacs Muse', 'document markup', 'muse', 'muse'],
  ['native', 'native', 'Pandoc document (Haskell)', 'document data', 'native', 'native'],
  ['odt', 'odt', 'OpenDocument Text', 'document', 'odt', 'odt'],
  ['opml', 'opml', 'OPML outline', 'document data', 'opml', 'opml'],
  ['org', 'org', 'Emacs Org', 'document markup', 'org', 'org'],
  ['pod', 'pod', 'Perl POD', 'document markup', 'pod', '-'],
  ['pptx', 'pptx', 'Microsoft PowerPoint', 'presentation', 'pptx', 'pptx'],
  ['ris', 'ris', 'RIS', 'bibliography', 'ris', '-'],
  ['rst', 'rst', 'reStructuredText', 'document markup', 'rst', 'rst'],
  ['rtf', 'rtf', 'Rich Text Format', 'document', 'rtf', 'rtf'],
  ['t2t', 't2t', 'txt2tags', 'document markup', 't2t', '-'],
  ['tex', 'tex latex', 'LaTeX', 'document markup', 'latex', 'latex'],
  ['tex-beamer', 'tex', 'LaTeX Beamer slides', 'presentation markup', '-', 'beamer'],
  ['tex-context', 'tex', 'ConTeXt', 'document markup', '-', 'context'],
  ['texi', 'texi texinfo', 'Texinfo', 'document markup', '-', 'texinfo'],
  ['textile', 'textile', 'Textile', 'document markup', 'textile', 'textile'],
  ['tsv', 'tsv', 'Tab-Separated Values', 'spreadsheet data', 'tsv', '-'],
  ['txt', 'txt text', 'Plain text', 'document', plainTextReader, 'plain'],
  ['txt-ansi', 'txt', 'Text with ANSI colours', 'document', '-', 'ansi'],
  ['txt-bbcode', 'txt', 'BBCode', 'document markup', '-', 'bbcode'],
  ['txt-markdown', 'txt text', 'Markdown in a text file', 'document markup', 'markdown', 'markdown'],
  ['txt-vimdoc', 'txt', 'Vim help', 'document markup', '-', 'vimdoc'],
  ['typ', 'typ typst', 'Typst', 'document markup', 'typst', 'typst'],
  ['wiki', 'wiki mediawiki', 'MediaWiki', 'document markup wiki', 'mediawiki', 'mediawiki'],
  ['wiki-dokuwiki', 'wiki', 'DokuWiki', 'document markup wiki', 'dokuwiki', 'dokuwiki'],
  ['wiki-jira', 'wiki', 'Jira wiki', 'document markup wiki', 'jira', 'jira'],
  ['wiki-tikiwiki', 'wiki', 'TikiWiki', 'document markup wiki', 'tikiwiki', '-'],
  ['wiki-twiki', 'wiki', 'TWiki', 'document markup wiki', 'twiki', '-'],
  ['wiki-vimwiki', 'wiki', 'Vimwiki', 'document markup wiki', 'vimwiki', '-'],
  ['wiki-xwiki', 'wiki', 'XWiki', 'document markup wiki', '-', 'xwiki'],
  ['wiki-zimwiki', 'wiki', 'Zim wiki', 'document markup wiki', '-', 'zimwiki'],
  ['xlsx', 'xlsx', 'Microsoft Excel', 'spreadsheet', 'xlsx', '-'],
  ['xml-docbook', 'xml dbk', 'DocBook', 'document markup', 'docbook', 'docbook5'],
  ['xml-endnote', 'xml', 'EndNote', 'bibliography', 'endnotexml', '-'],
  ['xml-jats', 'xml', 'JATS', 'document markup', 'jats', 'jats'],
  ['xml-pandoc', 'xml', 'Pandoc document (XML)', 'document data', 'xml', 'xml'],
  ['xml-tei', 'xml', 'TEI', 'document markup', '-', 'tei'],
];

const pdfRows: Row[] = [['pdf', 'pdf', 'Portable Document Format', 'document', '-', 'pdf']];

function expand(rows: readonly Row[], engine: Engine): FormatRow[] {
  return rows.map(([name, extensions, title, categories, reads, writes]) => {
    const [format = name, type = null] = name.split('-');
    const [extension = format, ...aliases] = extensions.split(' ');
    return {
      format,
      type,
      extensions: [extension, ...aliases],
      title,
      categories: categories.split(' '),
      mediaType: mediaTypes[extension] ?? 'application/octet-stream',
      reads: reads === '-' ? null : { engine, name: reads },
      writes: writes === '-' ? null : { engine, name: writes },
    };
  });
}

/** Every format that some engine reads or writes, whether or not the engine is installed. */
export const formatRows: readonly FormatRow[] = [
  ...expand(imageRows, 'sharp'),
  ...expand(documentRows, 'pandoc'),
  ...expand(pdfRows, 'typst-pdf'),
];
