/**
 * Text without markup as a pandoc document (JSON): an empty line ends a paragraph, every other line end is kept, and nothing
 * in it is markup.
 */
export function plainTextDocument(text: string): string {
  const paragraphs = text.split(/\n[ \t]*\n+/).filter((paragraph) => paragraph.trim() !== '');
  const blocks = paragraphs.map((paragraph) => ({ t: 'Para', c: paragraphInlines(paragraph) }));
  return JSON.stringify({ 'pandoc-api-version': [1, 23, 1], meta: {}, blocks });
}

interface Inline {
  t: 'Str' | 'Space' | 'LineBreak';
  c?: string;
}

function paragraphInlines(paragraph: string): Inline[] {
  const lines = paragraph.split('\n').filter((line) => line.trim() !== '');
  return lines.flatMap((line, index) => [...(index === 0 ? [] : [{ t: 'LineBreak' } as const]), ...lineInlines(line)]);
}

function lineInlines(line: string): Inline[] {
  const words = line.trim().split(/[ \t\f]+/);
  return words.flatMap((word, index): Inline[] => [
    ...(index === 0 ? [] : [{ t: 'Space' } as const]),
    { t: 'Str', c: word },
  ]);
}
