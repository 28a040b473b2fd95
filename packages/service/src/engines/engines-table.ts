import type { EngineRequest, Converted } from './conversion';
import { codecs, type Convert, type Engine, type EngineName, engineNames, type Need } from './engine';
import { readInput } from './input';
import { programs } from './programs';

const sheets: Need = { npm: '@e965/xlsx' };
const sharp: Need = { npm: 'sharp' };
const typst: Need = { npm: '@myriaddreamin/typst-ts-node-compiler' };

const pdfium: Need = { npm: '@hyzyla/pdfium' };

const texts = codecs('doc docx odt rtf');
const tables = codecs('xls xlsx ods');
const slides = codecs('ppt pptx odp');
const scans = codecs('avif gif jpg png tiff webp');
const sounds = codecs('aac aiff flac m4a=mov mp3 ogg opus=ogg wav wma=asf');
const soundTargets = 'aac=adts aiff flac m4a=ipod mp3 ogg opus wav wma=asf';
const films = codecs('3gp=mov avi flv m4v=mov mkv=matroska mov mp4=mov mpg=mpeg ts=mpegts webm=matroska wmv=asf');
const pictures = codecs('avif gif jpg=jpeg png svg tiff webp');

/** Formats that pandoc reads, or that are read here and passed to it as a pandoc document. */
const documents = codecs(
  `adoc=asciidoc bib=biblatex bib-bibtex=bibtex creole csv djot docx epub epub-epub2=epub fb2 html ipynb json-csl=csljson
  json-pandoc=json man man-mdoc=mdoc md=github-markdown md-commonmark=commonmark md-gfm=gfm md-mmd=markdown_mmd md-pandoc=markdown
  md-phpextra=markdown_phpextra md-strict=markdown_strict muse native ods odt opml org pod pptx ris rst rtf t2t tex=latex textile tsv
  txt=plain-text txt-markdown=markdown typ=typst wiki=mediawiki wiki-dokuwiki=dokuwiki wiki-jira=jira wiki-tikiwiki=tikiwiki
  wiki-twiki=twiki wiki-vimwiki=vimwiki xlsx xml-docbook=docbook xml-endnote=endnotexml xml-jats=jats xml-pandoc=xml`,
);

const table: Readonly<Record<EngineName, Omit<Engine, 'name'>>> = {
  libreoffice: {
    title: 'office documents as they are printed, and each into the others of its kind',
    needs: [],
    families: [
      { reads: texts, writes: codecs('pdf=writer_pdf_Export'), needs: [programs.writer], takes: ['pages', 'quality'] },
      { reads: texts, writes: texts, needs: [programs.writer] },
      { reads: codecs('doc'), writes: codecs('txt'), needs: [programs.writer] },
      { reads: tables, writes: codecs('pdf=calc_pdf_Export'), needs: [programs.calc], takes: ['pages', 'quality'] },
      { reads: tables, writes: tables, needs: [programs.calc] },
      { reads: codecs('xls'), writes: codecs('csv'), needs: [programs.calc, sheets] },
      {
        reads: slides,
        writes: codecs('pdf=impress_pdf_Export'),
        needs: [programs.impress],
        takes: ['pages', 'quality'],
      },
      { reads: slides, writes: slides, needs: [programs.impress] },
    ],
    load: async () => (await import('./office-engine.js')).convertOffice,
  },
  chromium: {
    title: 'web pages as a browser prints them, without scripts',
    needs: [programs.chromium],
    families: [{ reads: codecs('html'), writes: codecs('pdf'), takes: ['page_size', 'margin', 'pages'] }],
    load: async () => (await import('./page-engine.js')).printPage,
  },
  tesseract: {
    title: 'the text in pictures and scanned pages, also as a PDF that can be searched',
    needs: [programs.tesseract, sharp],
    families: [
      { reads: scans, writes: codecs('txt pdf'), takes: ['ocr_language'] },
      { reads: codecs('pdf'), writes: codecs('txt pdf'), needs: [pdfium], takes: ['ocr_language', 'pages', 'dpi'] },
    ],
    load: async () => (await import('./ocr-engine.js')).recognise,
  },
  ffmpeg: {
    title: 'sound and film, with the codecs that FFmpeg chooses',
    needs: [programs.ffmpeg],
    families: [
      { reads: sounds, writes: codecs(soundTargets) },
      { reads: films, writes: codecs(`${soundTargets} avi flv gif mkv=matroska mov mp4 ts=mpegts webm wmv=asf`) },
    ],
    load: async () => (await import('./film/film-engine.js')).convertFilm,
  },
  sharp: {
    title: 'pictures',
    needs: [sharp],
    families: [
      { reads: pictures, writes: codecs('avif jpg=jpeg webp'), takes: ['quality', 'width'] },
      { reads: pictures, writes: codecs('gif png tiff'), takes: ['width'] },
      { reads: pictures, writes: codecs('pdf'), needs: [typst], takes: ['page_size', 'margin'] },
    ],
    load: async () => ofBytes((await import('./pictures/image-engine.js')).convertImage),
  },
  pdfium: {
    title: 'pages of a PDF as pictures, and its text',
    needs: [pdfium],
    families: [
      { reads: codecs('pdf'), writes: codecs('txt=text'), takes: ['pages'] },
      { reads: codecs('pdf'), writes: codecs('pdf'), needs: [typst, sharp], takes: ['pages'] },
      {
        reads: codecs('pdf'),
        writes: codecs('avif jpg=jpeg webp'),
        needs: [sharp],
        takes: ['pages', 'dpi', 'width', 'quality'],
      },
      { reads: codecs('pdf'), writes: codecs('png tiff'), needs: [sharp], takes: ['pages', 'dpi', 'width'] },
    ],
    load: async () => {
      const [{ convertPdf }, { copyPdf }] = await Promise.all([
        import('./pdf/pdf-reader.js'),
        import('./pdf/pdf-pages.js'),
      ]);
      return ofBytes((request, input) => (request.route.writer === 'pdf' ? copyPdf : convertPdf)(request, input));
    },
  },
  sheets: {
    title: 'spreadsheets: what is in their cells, not how it looks',
    needs: [sheets],
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
          html-revealjs=revealjs html-slidy=slidy icml ipynb json-csl=csljson json-pandoc=json man md=gfm
          md-commonmark=commonmark md-gfm=gfm md-markua=markua md-mmd=markdown_mmd md-pandoc=markdown md-phpextra=markdown_phpextra
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
    title: 'documents to PDF: typeset from what pandoc reads',
    needs: [{ npm: 'pandoc-wasm' }, typst],
    families: [{ reads: documents, writes: codecs('pdf'), takes: ['page_size', 'margin'] }],
    load: async () => ofBytes((await import('./pdf-engine.js')).convertToPdf),
  },
};

/** Every engine, in order of preference. */
export const engines: readonly Engine[] = engineNames.map((name) => ({ name, ...table[name] }));

/** For an engine that takes its input in memory. */
function ofBytes(convert: (request: EngineRequest, input: Buffer) => Promise<Converted>): Convert {
  return async (request) => convert(request, await readInput(request));
}
