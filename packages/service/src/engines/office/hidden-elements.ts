import { valueOfStyle, stylesOf } from './open-styles';
import { attributeOf } from '../xml';

/** Removes invisible parts of documents: shapes of slides, and texts of OpenDocument. */

const shapes =
  /<(\/?)p:(?:sp|pic|graphicFrame|cxnSp|grpSp)(?=[\s>])[^<>]*>|<p:cNvPr\s(?:[^<>]*?\s)?hidden="(?:1|true)"/g;
const openTexts = /<(\/?)text:(?:p|h|span|section)(?=[\s>])[^<>]*(?<!\/)>/g;

interface Seen {
  readonly xml: string;
  readonly hidden: string;
}

/** The XML of a slide without hidden shapes and groups, and their XML. */
export function withoutHiddenShapes(slide: string): Seen {
  return withoutHidden(slide, shapes, () => false);
}

const ownStyles = /<office:automatic-styles(?=[\s>])[^]*?<\/office:automatic-styles>/g;

/** The same for the content of an OpenDocument file, whose styles hide text; `more` holds its other styles. */
export function withoutHiddenTexts(content: string, more: string): Seen {
  if (!`${content}${more}`.includes('text:display="none"')) return { xml: content, hidden: '' };
  // Automatic styles of headers reuse names, such as P1.
  const styles = stylesOf(`${more.replace(ownStyles, '')}${content}`, ['paragraph', 'text', 'section']);
  const displayOf = (style: string | undefined) =>
    valueOfStyle(styles, style, ({ inside }) => attributeOf(inside, 'text:display'));
  return withoutHidden(content, openTexts, (start) => {
    return (attributeOf(start, 'text:display') ?? displayOf(attributeOf(start, 'text:style-name'))) === 'none';
  });
}

/** `tag`: its first group is the slash of an end tag; a match without that group hides the element around it. */
function withoutHidden(whole: string, tag: RegExp, isHidden: (start: string) => boolean): Seen {
  const open: { start: number; isHidden: boolean }[] = [];
  let [xml, hidden, at] = ['', '', 0];
  for (const { 0: found, 1: closing, index } of whole.matchAll(tag)) {
    const element = open.at(-1);
    if (closing === undefined) {
      if (element) element.isHidden = true;
    } else if (closing === '') open.push({ start: index, isHidden: isHidden(found) });
    else {
      open.pop();
      // If one hidden element is within another, the outer one counts.
      if (element?.isHidden !== true || open.some((outer) => outer.isHidden)) continue;
      const end = index + found.length;
      xml += whole.slice(at, element.start);
      hidden += whole.slice(element.start, end);
      at = end;
    }
  }
  return { xml: xml + whole.slice(at), hidden };
}
