import { editParts } from '../archive';

/** Gives the XML of office programs the prefixes that readers expect: other programs write other prefixes, or UTF-16. */

const declared = 'urn:oasis:names:tc:opendocument:xmlns:';
/** End of each namespace, without the common beginnings, and its usual prefix. */
const usualPrefixes: ReadonlyMap<string, string> = new Map(
  `wordprocessingml/main=w presentationml/main=p drawingml/main=a drawingml/picture=pic drawingml/chart=c drawingml/diagram=dgm
  drawingml/wordprocessingDrawing=wp officeDocument/relationships=r officeDocument/math=m markup-compatibility/=mc
  urn:schemas-microsoft-com:vml=v word/2010/wordprocessingShape=wps word/2010/wordprocessingGroup=wpg
  office=office text=text table=table style=style presentation=presentation drawing=draw xsl-fo-compatible=fo
  svg-compatible=svg http://www.w3.org/1999/xlink=xlink`
    .split(/\s+/)
    .map((pair) => pair.split('=') as [string, string]),
);

function usualPrefix(namespace: string): string | undefined {
  const end = namespace
    .replace(/^http:\/\/(?:schemas\.openxmlformats\.org|purl\.oclc\.org\/ooxml|schemas\.microsoft\.com\/office)\//, '')
    .replace(/(?<=\/)2006(?:\/|$)/, '');
  return usualPrefixes.get(end.startsWith(declared) ? end.slice(declared.length).replace(/:1\.0$/, '') : end);
}

const tag =
  /<(\/?)(?:([\w.-]+):)?([\w.-]+)((?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(\/?)>|<!(?:--[^]*?--|\[CDATA\[[^]*?\]\])>/g;
const attribute = /([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
const declaration = /\sxmlns(?::([\w.-]+))?\s*=\s*["']([^"']*)["']/g;

/** Returns the same archive if all names are the usual ones. */
export function withUsualNames(archive: Buffer): Buffer {
  return editParts(archive, /\.xml$/, (xml) => {
    const all = xml.replace(/^(<\?xml[^>]*encoding\s*=\s*["'])utf-16(?=["'])/i, '$1UTF-8');
    const isUsual = Array.from(all.matchAll(declaration)).every(
      ([, prefix, namespace = '']) => (usualPrefix(namespace) ?? prefix) === prefix,
    );
    return isUsual ? all : renamed(all);
  });
}

function renamed(xml: string): string {
  /** The usual prefixes of the namespaces in scope, for each open element. */
  const scopes: ReadonlyMap<string, string>[] = [new Map()];
  return xml.replace(tag, (whole: string, ...groups: (string | undefined)[]) => {
    const [closing = '', prefix = '', name, attributes = '', empty = ''] = groups;
    if (name === undefined) return whole;
    const scope = new Map(scopes.at(-1));
    if (closing === '/') scopes.pop();
    const written = new Map<string, string>();
    const pairs = Array.from(attributes.matchAll(attribute), ([, key = '', one, other = '']) => [
      key,
      one ?? other.replaceAll('"', '&quot;'),
    ]);
    for (const [key = '', value = ''] of pairs) {
      if (!/^xmlns(:|$)/.test(key)) continue;
      const usual = usualPrefix(value);
      scope.set(key.slice(6), usual ?? key.slice(6));
      written.set(usual === undefined ? key : `xmlns:${usual}`, value);
    }
    const nameOf = (own: string, local: string) => [scope.get(own) ?? own, local].filter(Boolean).join(':');
    for (const [key = '', value = ''] of pairs) {
      const [own = '', local] = key.split(':');
      if (own !== 'xmlns') written.set(local === undefined ? key : nameOf(own, local), value);
    }
    if (closing === '' && empty === '') scopes.push(scope);
    const texts = Array.from(written, ([key, value]) => ` ${key}="${value}"`);
    return `<${closing}${nameOf(prefix, name)}${texts.join('')}${empty}>`;
  });
}
