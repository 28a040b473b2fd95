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
}

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
  ods: 'application/vnd.oasis.opendocument.spreadsheet',
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

type Row = [name: string, extensions: string, title: string, categories: string];

const rows: readonly Row[] = [
  ['avif', 'avif', 'AV1 Image File Format', 'image'],
  ['gif', 'gif', 'Graphics Interchange Format', 'image'],
  ['jpg', 'jpg jpeg jpe jfif', 'JPEG', 'image'],
  ['png', 'png', 'Portable Network Graphics', 'image'],
  ['svg', 'svg', 'Scalable Vector Graphics', 'image vector'],
  ['tiff', 'tiff tif', 'Tagged Image File Format', 'image'],
  ['webp', 'webp', 'WebP', 'image'],
  ['adoc', 'adoc asciidoc', 'AsciiDoc', 'document markup'],
  ['bib', 'bib', 'BibLaTeX', 'bibliography'],
  ['bib-bibtex', 'bib', 'BibTeX', 'bibliography'],
  ['creole', 'creole', 'Creole', 'document markup wiki'],
  ['csv', 'csv', 'Comma-Separated Values', 'spreadsheet data'],
  ['djot', 'djot dj', 'Djot', 'document markup'],
  ['docx', 'docx', 'Microsoft Word', 'document'],
  ['epub', 'epub', 'EPUB 3', 'ebook'],
  ['epub-epub2', 'epub', 'EPUB 2', 'ebook'],
  ['fb2', 'fb2', 'FictionBook', 'ebook'],
  ['html', 'html htm xhtml', 'HTML', 'document markup web'],
  ['html-html4', 'html htm', 'HTML 4', 'document markup web'],
  ['html-revealjs', 'html htm', 'reveal.js slides', 'presentation web'],
  ['html-slidy', 'html htm', 'Slidy slides', 'presentation web'],
  ['icml', 'icml', 'Adobe InCopy', 'document'],
  ['ipynb', 'ipynb', 'Jupyter Notebook', 'document data'],
  ['json-csl', 'json', 'CSL JSON', 'bibliography data'],
  ['json-pandoc', 'json', 'Pandoc document (JSON)', 'document data'],
  ['man', 'man 1 2 3 4 5 6 7 8', 'Manual page', 'document markup'],
  ['man-mdoc', 'man 1 2 3 4 5 6 7 8', 'Manual page (mdoc)', 'document markup'],
  ['md', 'md markdown mdown mkd', 'Markdown', 'document markup'],
  ['md-commonmark', 'md markdown', 'Markdown (CommonMark)', 'document markup'],
  ['md-gfm', 'md markdown', 'Markdown (GitHub)', 'document markup'],
  ['md-markua', 'md', 'Markua', 'document markup'],
  ['md-mmd', 'md markdown', 'Markdown (MultiMarkdown)', 'document markup'],
  ['md-phpextra', 'md', 'Markdown (PHP Extra)', 'document markup'],
  ['md-strict', 'md markdown', 'Markdown (original)', 'document markup'],
  ['ms', 'ms', 'roff ms', 'document markup'],
  ['muse', 'muse', 'Emacs Muse', 'document markup'],
  ['native', 'native', 'Pandoc document (Haskell)', 'document data'],
  ['ods', 'ods', 'OpenDocument Spreadsheet', 'spreadsheet'],
  ['odt', 'odt', 'OpenDocument Text', 'document'],
  ['opml', 'opml', 'OPML outline', 'document data'],
  ['org', 'org', 'Emacs Org', 'document markup'],
  ['pod', 'pod', 'Perl POD', 'document markup'],
  ['pptx', 'pptx', 'Microsoft PowerPoint', 'presentation'],
  ['ris', 'ris', 'RIS', 'bibliography'],
  ['rst', 'rst', 'reStructuredText', 'document markup'],
  ['rtf', 'rtf', 'Rich Text Format', 'document'],
  ['t2t', 't2t', 'txt2tags', 'document markup'],
  ['tex', 'tex latex', 'LaTeX', 'document markup'],
  ['tex-beamer', 'tex', 'LaTeX Beamer slides', 'presentation markup'],
  ['tex-context', 'tex', 'ConTeXt', 'document markup'],
  ['texi', 'texi texinfo', 'Texinfo', 'document markup'],
  ['textile', 'textile', 'Textile', 'document markup'],
  ['tsv', 'tsv', 'Tab-Separated Values', 'spreadsheet data'],
  ['txt', 'txt text', 'Plain text', 'document'],
  ['txt-ansi', 'txt', 'Text with ANSI colours', 'document'],
  ['txt-bbcode', 'txt', 'BBCode', 'document markup'],
  ['txt-markdown', 'txt text', 'Markdown in a text file', 'document markup'],
  ['txt-vimdoc', 'txt', 'Vim help', 'document markup'],
  ['typ', 'typ typst', 'Typst', 'document markup'],
  ['wiki', 'wiki mediawiki', 'MediaWiki', 'document markup wiki'],
  ['wiki-dokuwiki', 'wiki', 'DokuWiki', 'document markup wiki'],
  ['wiki-jira', 'wiki', 'Jira wiki', 'document markup wiki'],
  ['wiki-tikiwiki', 'wiki', 'TikiWiki', 'document markup wiki'],
  ['wiki-twiki', 'wiki', 'TWiki', 'document markup wiki'],
  ['wiki-vimwiki', 'wiki', 'Vimwiki', 'document markup wiki'],
  ['wiki-xwiki', 'wiki', 'XWiki', 'document markup wiki'],
  ['wiki-zimwiki', 'wiki', 'Zim wiki', 'document markup wiki'],
  ['xlsx', 'xlsx', 'Microsoft Excel', 'spreadsheet'],
  ['xml-docbook', 'xml dbk', 'DocBook', 'document markup'],
  ['xml-endnote', 'xml', 'EndNote', 'bibliography'],
  ['xml-jats', 'xml', 'JATS', 'document markup'],
  ['xml-pandoc', 'xml', 'Pandoc document (XML)', 'document data'],
  ['xml-tei', 'xml', 'TEI', 'document markup'],
  ['pdf', 'pdf', 'Portable Document Format', 'document'],
];

/** Every format that some engine reads or writes, whether or not the engine is installed. */
export const formatRows: readonly FormatRow[] = rows.map(([name, extensions, title, categories]) => {
  const [format = name, type = null] = name.split('-');
  const [extension = format, ...aliases] = extensions.split(' ');
  return {
    format,
    type,
    extensions: [extension, ...aliases],
    title,
    categories: categories.split(' '),
    mediaType: mediaTypes[extension] ?? 'application/octet-stream',
  };
});
