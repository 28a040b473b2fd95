import { z } from 'zod';

/**
 * What a submit may say beside its formats. Which of them a conversion takes depends on its engine and the format that it writes; a
 * request with any other is refused.
 */
export const parameterSchemas = {
  page_size: z.enum(['a3', 'a4', 'a5', 'letter', 'legal']).describe('size of the pages; default: a4'),
  margin: z.number().min(0).max(100).describe('margin of the pages, in millimetres'),
  quality: z.int().min(1).max(100).describe('quality of a picture that loses some to be small; default: 85'),
  dpi: z.int().min(30).max(600).describe('pixels per inch of a page; default: 150'),
  width: z.int().min(1).max(20_000).describe('width of a picture in pixels; its height follows'),
  // A single page is a number to whoever types it.
  pages: z
    .preprocess(
      (pages) => (Number.isInteger(pages) ? String(pages) : pages),
      z.string().regex(/^\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*$/),
    )
    .describe('the pages to convert: `2`, `1-3`, `1,4-6`'),
  ocr_language: z
    .string()
    .regex(/^[a-zA-Z_]{3,20}(\+[a-zA-Z_]{3,20})*$/)
    .describe('language of the text in pictures, as Tesseract calls it: `eng`, `deu+fra`'),
};

export type ParameterName = keyof typeof parameterSchemas;

export const parametersSchema = z.object(parameterSchemas).partial();
export type Parameters = z.infer<typeof parametersSchema>;

/** The pages of a document that `pages` names, counted from 0, each once and in their order; none when it has none of them. */
export function choosePages(pages: string | undefined, count: number): number[] {
  const all = Array.from({ length: count }, (_, index) => index);
  if (pages === undefined) return all;
  const ranges = pages.split(',').map((range) => range.split('-').map(Number));
  return all.filter((index) => ranges.some(([first = 0, last = first]) => index + 1 >= first && index + 1 <= last));
}
