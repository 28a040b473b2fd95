export interface FormatRow {
  /** The public name: `docx`, or `md-gfm` for a variant with the same file extension. */
  readonly name: string;
  readonly type: string | null;
  /** The first one names output files; the others are aliases. */
  readonly extensions: readonly [string, ...string[]];
  /** Extensions of files that are read as this format but never written: templates, and documents with macros. */
  readonly readsAlso: readonly string[];
  readonly title: string;
  readonly categories: readonly string[];
  readonly mediaType: string;
}

/** Extensions behind the bar are only read. The media type applies to all formats with the same first extension. */
type Row = [name: string, extensions: string, title: string, categories: string, mediaType?: string];

const openXml = 'application/vnd.openxmlformats-officedocument';

const rows: readonly Row[] = [
  ['avif', 'avif', 'AV1 Image File Format', 'image', 'image/avif'],
  ['gif', 'gif', 'Graphics Interchange Format', 'image', 'image/gif'],
  ['jpg', 'jpg jpeg jpe jfif', 'JPEG', 'image', 'image/jpeg'],
  ['png', 'png', 'Portable Network Graphics', 'image', 'image/png'],
  ['svg', 'svg', 'Scalable Vector Graphics', 'image vector', 'image/svg+xml'],
  ['tiff', 'tiff tif', 'Tagged Image File Format', 'image', 'image/tiff'],
  ['webp', 'webp', 'WebP', 'image', 'image/webp'],
  ['adoc', 'adoc asciidoc', 'AsciiDoc', 'document markup', 'text/asciidoc'],
  ['bib', 'bib', 'BibLaTeX', 'bibliography'],
  ['bib-bibtex', 'bib', 'BibTeX', 'bibliography'],
  ['creole', 'creole', 'Creole', 'document markup wiki'],
  ['csv', 'csv', 'Comma-Separated Values', 'spreadsheet data', 'text/csv'],
  ['djot', 'djot dj', 'Djot', 'document markup'],
  ['doc', 'doc | dot', 'Microsoft Word 97 to 2003', 'document', 'application/msword'],
  ['docx', 'docx | docm dotx dotm', 'Microsoft Word', 'document', `${openXml}.wordprocessingml.document`],
  ['epub', 'epub', 'EPUB 3', 'ebook', 'application/epub+zip'],
  ['epub-epub2', 'epub', 'EPUB 2', 'ebook'],
  ['fb2', 'fb2', 'FictionBook', 'ebook'],
  ['html', 'html htm xhtml', 'HTML', 'document markup web', 'text/html; charset=utf-8'],
  ['html-html4', 'html htm', 'HTML 4', 'document markup web'],
  ['html-revealjs', 'html htm', 'reveal.js slides', 'presentation web'],
  ['html-slidy', 'html htm', 'Slidy slides', 'presentation web'],
  ['icml', 'icml', 'Adobe InCopy', 'document'],
  ['ipynb', 'ipynb', 'Jupyter Notebook', 'document data', 'application/x-ipynb+json'],
  ['json-csl', 'json', 'CSL JSON', 'bibliography data', 'application/json'],
  ['json-pandoc', 'json', 'Pandoc document (JSON)', 'document data'],
  ['man', 'man 1 2 3 4 5 6 7 8', 'Manual page', 'document markup'],
  ['man-mdoc', 'man 1 2 3 4 5 6 7 8', 'Manual page (mdoc)', 'document markup'],
  ['md', 'md markdown mdown mkd', 'Markdown', 'document markup', 'text/markdown; charset=utf-8'],
  ['md-commonmark', 'md markdown', 'Markdown (CommonMark)', 'document markup'],
  ['md-gfm', 'md markdown', 'Markdown (GitHub)', 'document markup'],
  ['md-markua', 'md', 'Markua', 'document markup'],
  ['md-mmd', 'md markdown', 'Markdown (MultiMarkdown)', 'document markup'],
  ['md-pandoc', 'md markdown', 'Markdown (Pandoc)', 'document markup'],
  ['md-phpextra', 'md', 'Markdown (PHP Extra)', 'document markup'],
  ['md-strict', 'md markdown', 'Markdown (original)', 'document markup'],
  ['ms', 'ms', 'roff ms', 'document markup'],
  ['muse', 'muse', 'Emacs Muse', 'document markup'],
  ['native', 'native', 'Pandoc document (Haskell)', 'document data'],
  ['odp', 'odp | otp', 'OpenDocument Presentation', 'presentation', 'application/vnd.oasis.opendocument.presentation'],
  ['ods', 'ods | ots', 'OpenDocument Spreadsheet', 'spreadsheet', 'application/vnd.oasis.opendocument.spreadsheet'],
  ['odt', 'odt | ott', 'OpenDocument Text', 'document', 'application/vnd.oasis.opendocument.text'],
  ['opml', 'opml', 'OPML outline', 'document data'],
  ['org', 'org', 'Emacs Org', 'document markup'],
  ['pod', 'pod', 'Perl POD', 'document markup'],
  ['ppt', 'ppt | pot pps', 'Microsoft PowerPoint 97 to 2003', 'presentation', 'application/vnd.ms-powerpoint'],
  [
    'pptx',
    'pptx | pptm potx potm ppsx ppsm',
    'Microsoft PowerPoint',
    'presentation',
    `${openXml}.presentationml.presentation`,
  ],
  ['ris', 'ris', 'RIS', 'bibliography'],
  ['rst', 'rst', 'reStructuredText', 'document markup'],
  ['rtf', 'rtf', 'Rich Text Format', 'document', 'application/rtf'],
  ['t2t', 't2t', 'txt2tags', 'document markup'],
  ['tex', 'tex latex', 'LaTeX', 'document markup', 'application/x-tex'],
  ['tex-beamer', 'tex', 'LaTeX Beamer slides', 'presentation markup'],
  ['tex-context', 'tex', 'ConTeXt', 'document markup'],
  ['texi', 'texi texinfo', 'Texinfo', 'document markup'],
  ['textile', 'textile', 'Textile', 'document markup'],
  ['tsv', 'tsv', 'Tab-Separated Values', 'spreadsheet data', 'text/tab-separated-values'],
  ['txt', 'txt text', 'Plain text', 'document', 'text/plain; charset=utf-8'],
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
  ['xls', 'xls | xlt', 'Microsoft Excel 97 to 2003', 'spreadsheet', 'application/vnd.ms-excel'],
  ['xlsx', 'xlsx | xlsm xltx xltm', 'Microsoft Excel', 'spreadsheet', `${openXml}.spreadsheetml.sheet`],
  ['xml-docbook', 'xml dbk', 'DocBook', 'document markup', 'application/xml'],
  ['xml-endnote', 'xml', 'EndNote', 'bibliography'],
  ['xml-jats', 'xml', 'JATS', 'document markup'],
  ['xml-pandoc', 'xml', 'Pandoc document (XML)', 'document data'],
  ['xml-tei', 'xml', 'TEI', 'document markup'],
  ['pdf', 'pdf', 'Portable Document Format', 'document', 'application/pdf'],
  ['aac', 'aac', 'Advanced Audio Coding', 'audio'],
  ['aiff', 'aiff aif', 'Audio Interchange File Format', 'audio'],
  ['flac', 'flac', 'Free Lossless Audio Codec', 'audio', 'audio/flac'],
  ['m4a', 'm4a', 'MPEG-4 Audio', 'audio', 'audio/mp4'],
  ['mp3', 'mp3', 'MP3', 'audio', 'audio/mpeg'],
  ['ogg', 'ogg oga', 'Ogg', 'audio', 'audio/ogg'],
  ['opus', 'opus', 'Opus', 'audio'],
  ['wav', 'wav', 'Waveform Audio', 'audio', 'audio/wav'],
  ['wma', 'wma', 'Windows Media Audio', 'audio'],
  ['3gp', '3gp', '3GPP', 'video'],
  ['avi', 'avi', 'Audio Video Interleave', 'video'],
  ['flv', 'flv', 'Flash Video', 'video'],
  ['m4v', 'm4v', 'MPEG-4 Video of iTunes', 'video'],
  ['mkv', 'mkv', 'Matroska', 'video', 'video/x-matroska'],
  ['mov', 'mov', 'QuickTime', 'video', 'video/quicktime'],
  ['mp4', 'mp4', 'MPEG-4', 'video', 'video/mp4'],
  ['mpg', 'mpg mpeg', 'MPEG', 'video'],
  ['ts', 'ts', 'MPEG transport stream', 'video'],
  ['webm', 'webm', 'WebM', 'video', 'video/webm'],
  ['wmv', 'wmv', 'Windows Media Video', 'video'],
];

const mediaTypes = new Map(rows.flatMap(([, names, , , type]) => (type ? [[names.split(' ', 1)[0], type]] : [])));

/** Every format that some engine reads or writes, whether or not the engine is installed. */
export const formatRows: readonly FormatRow[] = rows.map(([name, extensions, title, categories]) => {
  const [format = name, type = null] = name.split('-');
  const [written = format, also = ''] = extensions.split(' | ');
  const [extension = format, ...aliases] = written.split(' ');
  return {
    name,
    type,
    extensions: [extension, ...aliases],
    readsAlso: also === '' ? [] : also.split(' '),
    title,
    categories: categories.split(' '),
    mediaType: mediaTypes.get(extension) ?? 'application/octet-stream',
  };
});
