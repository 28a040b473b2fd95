import { entriesOf, textOfEntry, textOfPart, withEntries } from '../archive';
import { equationsIn, wordTexts } from './word-document';
import { plainRichText, richTextOf } from './rtf-text';
import { withoutHiddenShapes, withoutHiddenTexts } from './hidden-elements';
import { openNumbers } from './open-numbers';
import { relationsOf } from './relations';
import { withOpenSigns } from './sign-fonts';
import { mastersOf } from './slide-masters';
import { usualNumber, wordNumbers } from './word-numbers';
import { hasWords } from '../words';
import { attributeOf, decodeXml } from '../xml';
import { withUsualNames } from './xml-names';

/** Reads what office files contain, as text and as countable parts, whichever engine converts them. */

const nothing = {
  /** Text of a document with its notes and text boxes, or of the visible slides. Undefined: not known for this format. */
  body: undefined as string | undefined,
  /** Headers and footers; for slides, the text of their masters. */
  headers: '',
  /** Body text that programs draw as outlines (WordArt), so that the pages have no text for it. */
  art: '',
  /** The same in headers, such as a watermark. */
  headerArt: '',
  headerPictureCount: 0,
  /** Pictures of Word documents outside headers; only plain text loses them. */
  pictureCount: 0,
  hidden: '',
  hiddenSlideCount: 0,
  /** Numbers that an office program generates, such as `Article 1.`; their digits are not the right ones. */
  numbers: [] as readonly string[],
  commentCount: 0,
  noteCount: 0,
  /** Charts and diagrams (SmartArt), which only a program with a layout engine draws. */
  drawingCount: 0,
  /** Charts of the Office 2016 kinds (waterfall, funnel, treemap) without a fallback picture, which is all that LibreOffice draws. */
  undrawnCount: 0,
  /** Text of diagrams, which programs do not always draw. */
  diagrams: '',
  /** Text of each equation without a replacement picture. */
  equations: [] as readonly string[],
  /** Text of each equation with one. */
  drawnEquations: [] as readonly string[],
  /** Targets of the links on slides; pandoc keeps only their text. */
  links: [] as readonly string[],
  /** Whole files of other formats, embedded to be shown in place. */
  insertedCount: 0,
};
export type OfficeTexts = Readonly<typeof nothing>;

/** By the name of the reader; undefined for a format that is not covered here. */
export function officeTexts(reader: string, written: Buffer): OfficeTexts | undefined {
  const file = reader === 'rtf' ? written : withUsualNames(written);
  if (reader === 'docx') return { ...nothing, ...wordTexts(file), ...drawingsOf(file), numbers: wordNumbers(file) };
  if (reader === 'odt' || reader === 'odp') return openTexts(file);
  if (reader === 'pptx') return slideTexts(file);
  return reader === 'rtf' ? richTexts(file.toString('latin1')) : undefined;
}

/** OOXML stores each chart and diagram as a part of its own. */
function drawingsOf(file: Buffer): Pick<OfficeTexts, 'drawingCount' | 'undrawnCount' | 'diagrams'> {
  const diagrams = partsOf(file, /^(word|ppt)\/diagrams\/data\d*\.xml$/);
  const charts = entriesOf(file).filter(({ name }) => /^(word|ppt)\/charts\/chart(Ex)?\d*\.xml$/.test(name));
  return {
    drawingCount: charts.length + diagrams.length,
    undrawnCount: undrawnCharts(file),
    diagrams: diagrams.map(({ xml }) => readXml(xml, drawn)).join('\n'),
  };
}

export function undrawnCharts(file: Buffer): number {
  const choices = partsOf(file, /^(word|ppt\/slides|xl\/drawings)\/\w+\.xml$/).flatMap(
    ({ xml }) => xml.match(/<(\w+:AlternateContent)[\s>][^]*?<\/\1>/g) ?? [],
  );
  return choices.filter((each) => each.includes('/2014/chartex"') && !/<\w+:blip\s/.test(each)).length;
}

function partsOf(file: Buffer, wanted: RegExp): { name: string; xml: string }[] {
  const entries = entriesOf(file).filter(({ name }) => wanted.test(name));
  return entries.map((entry) => ({ name: entry.name, xml: textOfEntry(file, entry) ?? '' }));
}

interface Reading {
  readonly holds?: RegExp;
  readonly skips: RegExp;
  readonly ends: RegExp;
}

/** The text of an XML document. The expressions match element names without their prefixes. */
function readXml(xml: string, { holds, skips, ends }: Reading): string {
  let [text, skipped, held] = ['', 0, 0];
  for (const [, closing, name = '', empty, content] of xml.matchAll(/<(\/?)(?:\w+:)?([\w-]+)[^<>]*?(\/?)>|([^<]+)/g)) {
    const step = closing === '/' ? -1 : 1;
    if (content !== undefined) {
      if (skipped === 0 && (!holds || held > 0)) text += decodeXml(content);
    } else if (ends.test(name)) text += ' ';
    else if (empty === '/') continue;
    else if (skips.test(name)) {
      skipped += step;
      // Skipped content still separates the words around it.
      text += ' ';
    } else if (holds?.test(name)) held += step;
  }
  return text;
}

const formula: Reading = { skips: /^(annotation(-xml)?|mphantom)$/, ends: /^m(i|n|o|s|text)$/ };

const openDocument: Reading = {
  skips:
    /^(annotation|tracked-changes|note-citation|forms|event-listeners|desc|title|notes|ruby-text|(table-of|alphabetical|illustration|table|object|user|bibliography)-(content|index)|[\w-]*-count|[\w-]*(date|time)|page-[\w-]*|file-name|chapter|author-[\w-]*|[\w-]*creator|sender-[\w-]*|template-name|sheet-name|variable-[\w-]*|user-field-[\w-]*|expression|sequence|[\w-]*-ref|conditional-text|hidden-[\w-]*|placeholder|subject|keywords|description)$/,
  ends: /^(p|h|s|tab|line-break|table-cell|note-body)$/,
};

const openArt =
  /<draw:custom-shape[\s>](?:(?!<\/draw:custom-shape>)[^])*?\sdraw:text-path="true"[^]*?<\/draw:custom-shape>/g;

function openTexts(file: Buffer): OfficeTexts {
  const objects = openObjects(file);
  const styles = textOfPart(file, 'styles.xml');
  const { xml: content, hidden } = withoutHiddenTexts(textOfPart(file, 'content.xml'), styles);
  const [, whole = ''] = /<office:body[^>]*>([^]*)<\/office:body>/.exec(content) ?? [];
  const { body, hiddenSlideCount } = withoutHiddenPages(content, whole);
  const headers = openHeaders(styles);
  const notes = whole.match(/<presentation:notes[\s>][^]*?<\/presentation:notes>/g) ?? [];
  return {
    ...nothing,
    body: readXml(body.replace(openArt, ' '), openDocument),
    numbers: openNumbers(content, styles),
    art: (body.match(openArt) ?? []).map((each) => readXml(each, openDocument)).join('\n'),
    hidden: readXml(hidden, openDocument),
    hiddenSlideCount,
    headers: headers.map((each) => readXml(each, openDocument)).join('\n'),
    headerPictureCount: countOf(headers, /<draw:frame\s[^<>]*>\s*<draw:image(?=[\s/>])/g),
    commentCount: whole.match(/<office:annotation[\s>]/g)?.length ?? 0,
    noteCount: notes.filter((each) => hasWords(readXml(each, { ...openDocument, skips: /^(page-number|date)$/ })))
      .length,
    drawingCount: objects.filter(({ xml }) => xml.includes('<office:chart')).length,
    undrawnCount: objects.filter(
      ({ xml, isDrawn }) => !isDrawn && /<office:(spreadsheet|text|presentation)[\s>]/.test(xml),
    ).length,
    ...openEquations(objects),
  };
}

/** The XML of each page header and footer. */
export function openHeaders(styles: string): readonly string[] {
  return styles.match(/<style:(header|footer)[\w-]*(?=[\s>])[^]*?<\/style:\1[\w-]*>/g) ?? [];
}

interface OpenObject {
  readonly xml: string;
  /** The file holds a picture of it. */
  readonly isDrawn: boolean;
}

/** The objects that are embedded in the file. */
function openObjects(file: Buffer): OpenObject[] {
  const names = new Set(entriesOf(file).map(({ name }) => name));
  return partsOf(file, /.\/content\.xml$/).map(({ name, xml }) => {
    return { xml, isDrawn: names.has(`ObjectReplacements/${name.slice(0, -'/content.xml'.length)}`) };
  });
}

function openEquations(objects: readonly OpenObject[]): Pick<OfficeTexts, 'equations' | 'drawnEquations'> {
  const read = (isDrawn: boolean) =>
    objects.flatMap((object) => {
      if (object.isDrawn !== isDrawn) return [];
      const [math] = /<(?:\w+:)?math[\s>][^]*/.exec(object.xml) ?? [];
      return math === undefined ? [] : [readXml(math, formula)];
    });
  return { equations: read(false), drawnEquations: read(true) };
}

/** Pages of a presentation are hidden by their style. */
function withoutHiddenPages(content: string, whole: string) {
  const styles = content.match(/<style:style\s(?:(?!<\/?style:style[\s>])[^])*presentation:visibility="hidden"/g) ?? [];
  const hidden = new Set(styles.map((style) => attributeOf(style, 'style:name')));
  let hiddenSlideCount = 0;
  const body = whole.replace(/<draw:page(\s[^<>]*)>[^]*?<\/draw:page>/g, (page, attributes: string) => {
    if (!hidden.has(attributeOf(attributes, 'draw:style-name') ?? '')) return page;
    hiddenSlideCount += 1;
    return '';
  });
  return { body, hiddenSlideCount };
}

const drawn: Reading = { holds: /^t$/, skips: /^(fld|Fallback)$/, ends: /^(p|br|tab|oMath)$/ };

const slidePart = /^ppt\/slides\/slide\d+\.xml$/;
const hiddenSlide = /<p:sld [^>]*show="(0|false)"/;

function slideTexts(file: Buffer): OfficeTexts {
  const slides = partsOf(file, slidePart);
  const shownSlides = slides.filter(({ xml }) => !hiddenSlide.test(xml));
  const parts = shownSlides.map(({ xml }) => withoutHiddenShapes(xml));
  const shown = parts.map(({ xml }) => xml);
  const masters = mastersOf(file, shownSlides).map((xml) => withoutHiddenShapes(xml).xml);
  return {
    ...nothing,
    ...drawingsOf(file),
    hiddenSlideCount: slides.length - shown.length,
    links: shownSlides
      .flatMap(({ name }) => relationsOf(file, name))
      .flatMap(({ kind, isOutside, target }) => (kind === 'hyperlink' && isOutside ? [target] : [])),
    hidden: parts.map(({ hidden }) => readXml(hidden, drawn)).join('\n'),
    headers: masters.map((xml) => readXml(xml, drawn)).join('\n'),
    // pandoc shows all pictures of the slides themselves, except those that fill the background or a shape.
    headerPictureCount: countOf(masters, /<p:pic[\s>]/g) + countOf([...masters, ...shown], /<a:blipFill[\s>]/g),
    body: shown.map((xml) => readXml(xml, drawn)).join('\n'),
    // Only the count matters: their words are already in the body.
    equations: shown.flatMap(equationsIn).map(() => ''),
    commentCount: partsOf(file, /^ppt\/comments\/.*\.xml$/).reduce(
      (sum, { xml }) => sum + (xml.match(/<(p|p188):cm[\s>]/g)?.length ?? 0),
      0,
    ),
    noteCount: partsOf(file, /^ppt\/notesSlides\/notesSlide\d+\.xml$/).filter(({ xml }) =>
      hasWords(readXml(xml, drawn)),
    ).length,
  };
}

/** The tags of a shape group; pandoc reads nothing inside one. */
const grouping =
  /<p:grpSp(?:\s[^<>]*)?>\s*<p:nvGrpSpPr>[^]*?<\/p:nvGrpSpPr>(?:\s*<p:grpSpPr(?:\s[^<>]*)?(?:\/>|>[^]*?<\/p:grpSpPr>))?|<\/p:grpSp>/g;

/** An object of another program on a slide, such as a table of Excel, of which pandoc does not read the picture. */
const embeddedObject =
  /<p:graphicFrame[\s>](?:(?!<\/p:graphicFrame>)[^])*?<p:oleObj[\s>](?:(?!<\/p:graphicFrame>)[^])*?(<p:pic[\s>](?:(?!<\/p:graphicFrame>)[^])*<\/p:pic>)[^]*?<\/p:graphicFrame>/g;

/** The file without hidden slides, hidden shapes and shape groups, so that pandoc reads exactly what is shown. */
export function readableSlides(file: Buffer): Buffer {
  const book = 'ppt/presentation.xml';
  const targets = new Map(relationsOf(file, book).map(({ id, target }) => [id, target]));
  const xml = textOfPart(file, book);
  const shown = xml.replace(/<p:sldId\s[^>]*r:id="([^"]*)"[^>]*\/>/g, (slide, id: string) =>
    hiddenSlide.test(textOfPart(file, targets.get(id) ?? '')) ? '' : slide,
  );
  const changed = new Map(shown === xml ? [] : [[book, shown]]);
  for (const { name, xml: slide } of partsOf(file, slidePart)) {
    const seen = withoutHiddenShapes(slide).xml.replace(grouping, '').replace(embeddedObject, '$1');
    if (seen !== slide) changed.set(name, seen);
  }
  return changed.size === 0 ? file : withEntries(file, changed);
}

/** Fields whose text pandoc drops, and other elements that it does not read into. */
const openField =
  /<(\/?)(?:text|loext):(content-control|meta(?:-field)?|database-display|numbered-paragraph|ruby(?:-base)?|(?:illustration|table|object|user|alphabetical)-index|bibliography|index-(?:body|title)|user-field-(?:get|input)|variable-(?:set|get|input)|sequence(?:-ref)?|date|time|(?:creation|modification|print)-(?:date|time)|author-(?:name|initials)|(?:initial-)?creator|printed-by|sender-[\w-]+|placeholder|conditional-text|hidden-text|text-input|expression|title|subject|keywords|description|chapter|file-name|user-defined|drop-down)(?=[\s>])([^<>]*)>/g;

/** The displayed values of form controls, by the ids that the text refers to. */
function valuesOfForms(xml: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  let id = '';
  for (const [, kind = '', attributes = ''] of xml.matchAll(/<form:([\w-]+)(\s[^<>]*)>/g)) {
    const valueOf = (name: string) => new RegExp(`\\s(?:form|xml):${name}="([^"]*)"`).exec(attributes)?.[1];
    const isChosen = valueOf('current-selected') === 'true' || valueOf('current-state') === 'checked';
    const label = valueOf('label') ?? '';
    if (kind === 'option') {
      if (isChosen) values.set(id, label);
      continue;
    }
    id = valueOf('id') ?? '';
    const isBox = kind === 'checkbox' || kind === 'radio';
    if (isBox) values.set(id, `${isChosen ? '\u2612' : '\u2610'} ${label}`);
    else if (!/^(password|hidden|file)$/.test(kind))
      values.set(id, valueOf('current-value') ?? valueOf('value') ?? label);
  }
  return values;
}

/** A text box around a picture, mostly for its caption; pandoc keeps only the picture. */
const pictureBox =
  /<draw:frame\s([^<>]*)>\s*<draw:text-box(?:\s[^<>]*)?>((?:(?!<\/?draw:text-box|<text:list|<table:)[^])*?<draw:image\s(?:(?!<\/?draw:text-box|<text:list|<table:)[^])*?)<\/draw:text-box>(?:(?!<draw:)[^])*?<\/draw:frame>/g;

/** Moves the contents of a box into the paragraph where it stands. */
function withoutBox(_box: string, attributes: string, inside: string): string {
  const lines = inside.replace(/<text:[ph](?:\s[^<>]*)?>/g, '').replace(/<\/text:[ph]>/g, '<text:line-break/>');
  return attributes.includes('anchor-type="page"') ? `<text:p>${lines}</text:p>` : lines;
}

/** An OpenDocument text without hidden text, whose fields, forms and picture captions pandoc can read. */
export function readableOpenText(file: Buffer): Buffer {
  const xml = textOfPart(file, 'content.xml');
  const isHidden = /<text:variable-set\s[^<>]*text:display="none"[^<>]*>[^<]*<\/text:variable-set>/g;
  const values = valuesOfForms(xml);
  const styles = textOfPart(file, 'styles.xml');
  const readable = withOpenSigns(withoutHiddenTexts(xml, styles).xml, styles)
    .replace(isHidden, '')
    .replace(pictureBox, withoutBox)
    .replace(
      /<draw:control\s[^<>]*?draw:control="([^"]*)"[^<>]*?(?:\/>|>[^]*?<\/draw:control>)/g,
      (_control, id: string) => {
        return `<text:span>${values.get(id) ?? ''}</text:span>`;
      },
    )
    .replace(/<text:ruby-text(?:\s[^<>]*)?>([^<]+)<\/text:ruby-text>/g, '($1)')
    .replace(openField, (tag, _closing: string, _name: string, rest: string) => (rest.endsWith('/') ? tag : ''));
  return readable === xml ? file : withEntries(file, new Map([['content.xml', readable]]));
}

/** A picture with its data, which must not count as words. */
const richPicture = /\{\\pict(?![a-z])(?:[^{}]|\{[^{}]*\})*\}/g;

/** The parts of RTF that readers drop, such as headers, footers and comments. */
function richTexts(rtf: string): OfficeTexts {
  const headers = groupsOf(rtf, /\{\\(?:header|footer)[lrf]?(?![a-z])/g);
  return {
    ...nothing,
    headers: headers.map((each) => plainRichText(each.replace(richPicture, ''))).join('\n'),
    headerPictureCount: countOf(headers, /\{\\pict(?![a-z])/g),
    hidden: richTextOf(rtf, { isHidden: true }),
    numbers: groupsOf(rtf, /\{\\listtext(?![a-z])/g)
      .map((each) => plainRichText(each).trim())
      .filter((number) => /\d/.test(number) && !usualNumber.test(number.replace(/\d+/, '%1'))),
    equations: (rtf.match(/\{\\moMath(?![a-z])/gi) ?? []).map(() => ''),
    commentCount: groupsOf(rtf, /\{\\\*\\annotation(?![a-z])/g).length,
  };
}

/** Each group that begins like this, up to its closing brace. */
function groupsOf(rtf: string, start: RegExp): string[] {
  return Array.from(rtf.matchAll(start), ({ index }) => {
    let depth = 0;
    for (const { 0: sign, index: at } of rtf.slice(index).matchAll(/\\[\\{}]|[{}]/g)) {
      if (sign === '{') depth += 1;
      if (sign === '}' && (depth -= 1) === 0) return rtf.slice(index, index + at);
    }
    return '';
  });
}

function countOf(texts: readonly string[], pattern: RegExp): number {
  return texts.join('\n').match(pattern)?.length ?? 0;
}
