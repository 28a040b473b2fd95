import { codecs, type Convert, type Engine, type Need } from './engine';
import { type EngineName, engineNames } from './engine-names';
import { type ConvertBytes, readInput } from './input-file';

const sharp: Need = { npm: 'sharp' };
const typst: Need = { npm: '@myriaddreamin/typst-ts-node-compiler' };

const pictures = codecs('avif gif jpg=jpeg png svg tiff webp');

/** What pandoc reads, or what is read here and handed to it as a document of its own. */
const documents = codecs(
  `adoc=asciidoc bib=biblatex bib-bibtex=bibtex creole csv djot docx epub epub-epub2=epub fb2 html ipynb json-csl=csljson
  json-pandoc=json man man-mdoc=mdoc md=markdown md-commonmark=commonmark md-gfm=gfm md-mmd=markdown_mmd
  md-phpextra=markdown_phpextra md-strict=markdown_strict muse native ods odt opml org pod pptx ris rst rtf t2t tex=latex textile tsv
  txt=plain-text txt-markdown=markdown typ=typst wiki=mediawiki wiki-dokuwiki=dokuwiki wiki-jira=jira wiki-tikiwiki=tikiwiki
  wiki-twiki=twiki wiki-vimwiki=vimwiki xlsx xml-docbook=docbook xml-endnote=endnotexml xml-jats=jats xml-pandoc=xml`,
);

const table: Readonly<Record<EngineName, Omit<Engine, 'name'>>> = {
  sharp: {
    title: 'pictures',
    needs: [sharp],
    families: [
      { reads: pictures, writes: codecs('avif jpg=jpeg webp'), takes: ['quality', 'width'] },
      { reads: pictures, writes: codecs('gif png tiff'), takes: ['width'] },
      { reads: pictures, writes: codecs('pdf'), needs: [typst], takes: ['page_size', 'margin'] },
    ],
    load: async () => ofBytes((await import('./image-engine.js')).convertImage),
  },
  pdfium: {
    title: 'pages of a PDF as pictures, and its text',
    needs: [{ npm: '@hyzyla/pdfium' }],
    families: [
      { reads: codecs('pdf'), writes: codecs('txt=text'), takes: ['pages'] },
      {
        reads: codecs('pdf'),
        writes: codecs('avif jpg=jpeg webp'),
        needs: [sharp],
        takes: ['pages', 'dpi', 'width', 'quality'],
      },
      { reads: codecs('pdf'), writes: codecs('png tiff'), needs: [sharp], takes: ['pages', 'dpi', 'width'] },
    ],
    load: async () => ofBytes((await import('./pdf-reader.js')).convertPdf),
  },
  sheets: {
    title: 'spreadsheets: what is in their cells, not how it looks',
    needs: [{ npm: '@e965/xlsx' }],
    families: [{ reads: codecs('csv ods tsv xlsx'), writes: codecs('csv ods tsv xlsx') }],
    load: async () => ofBytes((await import('./sheet-engine.js')).convertSheets),
  },
  pandoc: {
    title: 'documents: their structure, not their pages',
    needs: [{ npm: 'pandoc-wasm' }],
    families: [
      {
        reads: documents,
        writes: codecs(
          `adoc=asciidoc bib=biblatex bib-bibtex=bibtex djot docx epub=epub3 epub-epub2=epub2 fb2 html=html5 html-html4=html4
          html-revealjs=revealjs html-slidy=slidy icml ipynb json-csl=csljson json-pandoc=json man md=markdown
          md-commonmark=commonmark md-gfm=gfm md-markua=markua md-mmd=markdown_mmd md-phpextra=markdown_phpextra
          md-strict=markdown_strict ms muse native odt opml org pptx rst rtf tex=latex tex-beamer=beamer tex-context=context
          texi=texinfo textile txt=plain txt-ansi=ansi txt-bbcode=bbcode txt-markdown=markdown txt-vimdoc=vimdoc typ=typst
          wiki=mediawiki wiki-dokuwiki=dokuwiki wiki-jira=jira wiki-xwiki=xwiki wiki-zimwiki=zimwiki xml-docbook=docbook5
          xml-jats=jats xml-pandoc=xml xml-tei=tei`,
        ),
      },
    ],
    load: async () => ofBytes((await import('./pandoc-engine.js')).convertDocument),
  },
  typst: {
    title: 'documents to PDF: typeset anew from what pandoc reads',
    needs: [{ npm: 'pandoc-wasm' }, typst],
    families: [{ reads: documents, writes: codecs('pdf'), takes: ['page_size', 'margin'] }],
    load: async () => ofBytes((await import('./pdf-engine.js')).convertToPdf),
  },
};

/** Every engine, in the order in which they are chosen. */
export const engines: readonly Engine[] = engineNames.map((name) => ({ name, ...table[name] }));

function ofBytes(convert: ConvertBytes): Convert {
  return async (request) => convert(request, await readInput(request));
}
