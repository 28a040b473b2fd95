import { usualNumber } from './word-numbers';
import { attributeOf, decodeXml } from '../xml';

interface Level {
  /** For example `Article %1.` */
  readonly text: string;
  readonly start: string;
}

const outline = 'outline';

/**
 * Numbers of the lists and headings of an OpenDocument text that other formats lack: those of headings, of lists with more than a number,
 * and of lists that start anew.
 */
export function openNumbers(content: string, styles: string): string[] {
  const levels = new Map([...levelsOf(styles), ...levelsOf(content)]);
  const lists: string[] = [];
  return [...content.matchAll(/<(\/?)text:(list|list-item|h)(?=[\s>])(?:[^<>]*[^<>/])?>/g)].flatMap(
    ([tag, closing, name]) => {
      const isOpening = closing === '';
      if (name === 'list') {
        if (isOpening) lists.push(attributeOf(tag, 'text:style-name') ?? lists.at(-1) ?? '');
        else lists.pop();
      }
      if (name === 'list' || !isOpening) return [];
      const style = lists.at(-1) ?? outline;
      const index = lists.length > 0 ? String(lists.length) : (attributeOf(tag, 'text:outline-level') ?? '1');
      const { text = '', start: first = '1' } = levels.get(`${style}/${index}`) ?? {};
      const start = attributeOf(tag, 'text:start-value') ?? first;
      const isHeading = name === 'h' && attributeOf(tag, 'text:is-list-header') !== 'true';
      const isLost = isHeading || (name === 'list-item' && (start !== first || !usualNumber.test(text)));
      return isLost && text !== '' ? [text.replaceAll('%1', start)] : [];
    },
  );
}

/** By style and level, from 1; levels without a number are left out. */
function levelsOf(xml: string): [string, Level][] {
  return [...xml.matchAll(/<text:(list|outline)-style(?=[\s>])([^<>]*)>([^]*?)<\/text:\1-style>/g)].flatMap(
    ([, kind, attributes = '', inner = '']) => {
      const style = kind === outline ? outline : (attributeOf(attributes, 'style:name') ?? '');
      const levels = inner.match(/<text:(?:list-level-style-number|outline-level-style)\s[^<>]*>/g) ?? [];
      return levels.flatMap((level): [string, Level][] => {
        const partOf = (name: string) => decodeXml(attributeOf(level, name) ?? '');
        if (partOf('style:num-format') === '') return [];
        const shown = '.%1'.repeat(Number(partOf('text:display-levels') || 1)).slice(1);
        const text = `${partOf('style:num-prefix')}${shown}${partOf('style:num-suffix')}`;
        return [[`${style}/${partOf('text:level')}`, { text, start: partOf('text:start-value') || '1' }]];
      });
    },
  );
}
