/** An inline of a pandoc document, as far as it is made here. */
export type Inline = { t: 'Str'; c: string } | { t: 'Space' | 'LineBreak' } | { t: 'Link'; c: unknown[] };

/**
 * Text without markup as a pandoc document (JSON): an empty line ends a paragraph, every other line end is kept, and nothing
 * in it is markup.
 */
export function plainTextDocument(text: string): string {
  const paragraphs = text.split(/\n[ \t]*\n+/).filter((paragraph) => paragraph.trim() !== '');
  const blocks = paragraphs.map((paragraph) => ({ t: 'Para', c: textInlines(paragraph) }));
  return JSON.stringify({ 'pandoc-api-version': [1, 23, 1], meta: {}, blocks });
}

/** Words, the spaces between them, and the ends of lines that are not empty. */
export function textInlines(text: string): Inline[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.flatMap((line, index) => [...(index === 0 ? [] : [{ t: 'LineBreak' } as const]), ...lineInlines(line)]);
}

function lineInlines(line: string): Inline[] {
  // Other spaces, such as those that do not break, are letters like any other.
  const words = line.split(/[ \t\f\v]+/).filter((word) => word !== '');
  return words.flatMap((word, index): Inline[] => [
    ...(index === 0 ? [] : [{ t: 'Space' } as const]),
    { t: 'Str', c: word },
  ]);
}
