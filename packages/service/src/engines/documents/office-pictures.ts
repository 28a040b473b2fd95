import { bytesOfEntry, entriesOf, textOfEntry, textOfPart } from '../archive';
import { describeMissing, type Warnings } from '../conversion';
import { describeLostPictures, isWhole } from './document-pictures';
import { relationsOf } from '../office/relations';

/** Finds what readers drop silently: pictures that a document references but lacks, damaged pictures, films and sounds. */

const picture = /^(?!Thumbnails\/|docProps\/).*\.(png|jpe?g|gif|bmp|webp|tiff?)$/i;

const outside = /^(\w+:|\.\.\/|\/\/)/;

/** No warnings if the file is no archive. */
export function describeBrokenPictures(file: Buffer): Warnings {
  const entries = entriesOf(file);
  const held = new Set(entries.map(({ name }) => name));
  const named = entries.flatMap((entry) => {
    if (entry.name === 'content.xml') return namedByOpenText(textOfEntry(file, entry) ?? '');
    return entry.name.endsWith('.xml') ? namedByPart(file, entry.name) : [];
  });
  const damaged = entries.filter((entry) => isDamaged(entry.name, bytesOfEntry(file, entry)));
  const lost = [...damaged.map(({ name }) => name), ...named.filter((name) => !outside.test(name) && !held.has(name))];
  return { ...describeMissing(named.filter((name) => outside.test(name))), ...describeLostPictures(new Set(lost)) };
}

export function isDamaged(name: string, data: Buffer | undefined): boolean {
  return picture.test(name) && (!data || !isWhole(data));
}

const media = /\.(mp[34g]|mpeg|m4[av]|mov|wm[av]|avi|wav|og[gv]|webm|aiff?|midi?)$/i;

/** Warns about films and sounds that a document holds and its result does not. */
export function describeLostMedia(file: Buffer, result: Buffer): Warnings {
  return describeMedia(filmsOf(file).length - filmsOf(result).length);
}

export function filmsOf(archive: Buffer): string[] {
  return entriesOf(archive)
    .map(({ name }) => name)
    .filter((name) => media.test(name));
}

export function describeMedia(lost: number): Warnings {
  return lost > 0 ? { MEDIA_LOST: `${lost} film(s) or sound(s) of the document are not in the result.` } : {};
}

function namedByOpenText(content: string): string[] {
  const names = Array.from(content.matchAll(/<draw:image\s[^<>]*?xlink:href="([^"#]+)"/g), ([, name = '']) => name);
  return names.map((name) => name.replace(/^\.\//, '')).filter((name) => !name.startsWith('ObjectReplacements/'));
}

/** By the relations of a part of an Office file. Of a picture that is both linked and embedded, the embedded one is shown. */
function namedByPart(file: Buffer, name: string): string[] {
  const targets = new Map(
    relationsOf(file, name).map(({ id, isOutside, target }) => [
      id,
      isOutside && !outside.test(target) ? `file:${target}` : target,
    ]),
  );
  if (targets.size === 0) return [];
  return Array.from(
    textOfPart(file, name).matchAll(/<\w+:(?:blip|imagedata)(?=\s)([^<>]*)>/g),
    ([, attributes = '']) => {
      const valueOf = (key: string) => new RegExp(`\\s(?:\\w+:)?${key}="([^"]+)"`).exec(attributes)?.[1];
      const [id = ''] = ['embed', 'id', 'link', 'href'].flatMap((key) => valueOf(key) ?? []);
      return targets.get(id) ?? '';
    },
  ).filter((target) => target !== '');
}
