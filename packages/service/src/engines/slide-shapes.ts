/** Shapes of slides that nobody sees. */

const tag = /<(\/?)p:(?:sp|pic|graphicFrame|cxnSp|grpSp)(?=[\s>])[^<>]*>|<p:cNvPr\s(?:[^<>]*?\s)?hidden="(?:1|true)"/g;

/** The XML of a slide without its hidden shapes and groups, and what these hold. */
export function withoutHiddenShapes(slide: string): { xml: string; hidden: string } {
  const open: { start: number; isHidden: boolean }[] = [];
  let [xml, hidden, at] = ['', '', 0];
  for (const { 0: found, 1: closing, index } of slide.matchAll(tag)) {
    const shape = open.at(-1);
    if (closing === undefined) {
      if (shape) shape.isHidden = true;
    } else if (closing === '') open.push({ start: index, isHidden: false });
    else {
      open.pop();
      // Of one within another that is hidden the outer one is taken.
      if (shape?.isHidden !== true || open.some(({ isHidden }) => isHidden)) continue;
      const end = index + found.length;
      xml += slide.slice(at, shape.start);
      hidden += slide.slice(shape.start, end);
      at = end;
    }
  }
  return { xml: xml + slide.slice(at), hidden };
}
