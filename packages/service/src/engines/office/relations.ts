import { posix } from 'node:path';
import { textOfPart } from '../archive';
import { attributeOf, decodeXml } from '../xml';

/** The relations of a part of an Office file: to other parts, by their names, or to the outside. */
export function relationsOf(file: Buffer, part: string) {
  const xml = textOfPart(file, part.replace(/[^/]+$/, '_rels/$&.rels'));
  return Array.from(xml.matchAll(/<(?:\w+:)?Relationship(?=\s)[^<>]*>/g), ([tag]) => {
    const [id = '', type = '', target = ''] = ['Id', 'Type', 'Target'].map((name) => attributeOf(tag, name));
    const isOutside = attributeOf(tag, 'TargetMode') === 'External';
    const inside = posix.join('/', target.startsWith('/') ? '' : posix.dirname(part), target).slice(1);
    return { id, kind: posix.basename(type), isOutside, target: isOutside ? decodeXml(target) : inside };
  });
}
