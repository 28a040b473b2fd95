import { textOfPart } from './archive';
import { attributeOf, decodeXml } from './xml';

/** What slides show of their layouts and masters: all but placeholders, whose text is that of each slide. */

const placeholder = /<p:sp(?=[\s>])(?:(?!<\/p:sp>)[^])*?<p:ph(?=[\s/>])[^]*?<\/p:sp>/g;
/** Said by a slide of its layout and master, and by a layout of its master. */
const showsNone = /<p:sld(?:Layout)?\s[^<>]*\sshowMasterSp="(?:0|false)"/;

/** The XML of each layout and master of which these slides show something. */
export function mastersOf(file: Buffer, slides: readonly { name: string; xml: string }[]): string[] {
  const layouts = relatedTo(file, slides, 'slideLayout');
  return [...layouts, ...relatedTo(file, layouts, 'slideMaster')].map(({ xml }) => xml.replace(placeholder, ' '));
}

function relatedTo(file: Buffer, parts: readonly { name: string; xml: string }[], kind: string) {
  const targets = parts.flatMap(({ name, xml }) => (showsNone.test(xml) ? [] : targetsOf(file, name, kind)));
  return [...new Set(targets)].map((name) => ({ name, xml: textOfPart(file, name) }));
}

/** Where links of slides lead, out of the file. */
export function linksOf(file: Buffer, slides: readonly { name: string }[]): string[] {
  const links = slides.flatMap(({ name }) => relationsOf(file, name, 'hyperlink'));
  return links.flatMap((link) => (link.includes('TargetMode="External"') ? targetOf(link) : []));
}

function targetsOf(file: Buffer, part: string, kind: string): string[] {
  return relationsOf(file, part, kind).flatMap((relation) =>
    targetOf(relation).map((target) => target.replace(/^(?:\.\.\/|\/?ppt\/)/, 'ppt/')),
  );
}

function targetOf(relation: string): string[] {
  const target = attributeOf(relation, 'Target');
  return target === undefined ? [] : [decodeXml(target)];
}

function relationsOf(file: Buffer, part: string, kind: string): string[] {
  const relations = textOfPart(file, part.replace(/[^/]+$/, '_rels/$&.rels')).match(/<Relationship\s[^<>]*>/g) ?? [];
  return relations.filter((relation) => relation.includes(`/${kind}"`));
}
