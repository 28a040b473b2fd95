import { textOfPart } from '../archive';
import { relationsOf } from './relations';

/** Slides show everything of their layouts and masters except placeholders, whose text is that of each slide. */

const placeholder = /<p:sp(?=[\s>])(?:(?!<\/p:sp>)[^])*?<p:ph(?=[\s/>])[^]*?<\/p:sp>/g;
/** A slide hides its layout and master with this, and a layout its master. */
const showsNone = /<p:sld(?:Layout)?\s[^<>]*\sshowMasterSp="(?:0|false)"/;

/** The XML of each layout and master that these slides show. */
export function mastersOf(file: Buffer, slides: readonly { name: string; xml: string }[]): string[] {
  const layouts = relatedTo(file, slides, 'slideLayout');
  return [...layouts, ...relatedTo(file, layouts, 'slideMaster')].map(({ xml }) => xml.replace(placeholder, ' '));
}

function relatedTo(file: Buffer, parts: readonly { name: string; xml: string }[], wanted: string) {
  const relations = parts.flatMap(({ name, xml }) => (showsNone.test(xml) ? [] : relationsOf(file, name)));
  const names = new Set(relations.filter(({ kind }) => kind === wanted).map(({ target }) => target));
  return Array.from(names, (name) => ({ name, xml: textOfPart(file, name) }));
}
