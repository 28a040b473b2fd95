import { textOfPart } from '../archive';
import { decodeXml } from '../xml';

/** Numbers that Word generates for lists and headings; a document stores only their format. */

interface Level {
  /** For example `Article %1.` */
  readonly text: string;
  readonly style: string | undefined;
}

/** Formats of list numbers that other formats have too. */
export const usualNumber = /^[([]?%\d[.)\]:]?$/;

/** Each number that only Word shows, as if it were the first: of headings, and of lists with more than a number. */
export function wordNumbers(archive: Buffer): string[] {
  const numbering = textOfPart(archive, 'word/numbering.xml');
  if (numbering === '') return [];
  const lists = new Map(
    elementsOf(numbering, 'abstractNum').map((list) => [valueOf(list, 'abstractNumId'), levelsOf(list)]),
  );
  const numbers = new Map(
    elementsOf(numbering, 'num').map((each) => [valueOf(each, 'numId'), lists.get(valueOf(each, 'abstractNumId'))]),
  );
  const styles = new Map(
    elementsOf(textOfPart(archive, 'word/styles.xml'), 'style').map((style) => [valueOf(style, 'styleId'), style]),
  );
  return elementsOf(textOfPart(archive, 'word/document.xml'), 'pPr').flatMap((properties) => {
    const style = valueOf(properties, 'pStyle');
    const own = [properties, styles.get(style) ?? ''].find((each) => valueOf(each, 'numId') !== undefined) ?? '';
    const levels = numbers.get(valueOf(own, 'numId')) ?? new Map<string, Level>();
    const [ofStyle] = [...levels].find(([, level]) => level.style !== undefined && level.style === style) ?? [];
    const text = levels.get(valueOf(own, 'ilvl') ?? ofStyle ?? '0')?.text ?? '';
    const isHeading = /:name\s+\w+:val="heading \d"/i.test(styles.get(style) ?? '');
    return text === '' || (!isHeading && usualNumber.test(text)) ? [] : [text.replace(/%\d/g, '1')];
  });
}

function levelsOf(list: string): Map<string, Level> {
  return new Map(
    elementsOf(list, 'lvl').map((level) => {
      const isShown = !/^(bullet|none)$/.test(valueOf(level, 'numFmt') ?? '');
      const text = isShown ? decodeXml(valueOf(level, 'lvlText') ?? '') : '';
      return [valueOf(level, 'ilvl') ?? '', { text, style: valueOf(level, 'pStyle') }];
    }),
  );
}

/** From start tag to end tag. */
function elementsOf(xml: string, name: string): string[] {
  return xml.match(new RegExp(`<(\\w+:)${name}(?=[\\s>])[^]*?</\\1${name}>`, 'g')) ?? [];
}

/** The first attribute or element with this name and a value. */
function valueOf(xml: string, name: string): string | undefined {
  const [, attribute, value] = new RegExp(`:${name}="([^"]*)"|:${name}\\s+\\w+:val="([^"]*)"`).exec(xml) ?? [];
  return attribute ?? value;
}
