import { z } from 'zod';

/** Reads the tables of a pandoc document as text. */

const nodeSchema = z.object({ t: z.string(), c: z.unknown() });
const inlineSchema: z.ZodType<string> = z.lazy(() =>
  z.union([
    z.object({ t: z.literal('Str'), c: z.string() }).transform(({ c }) => c),
    z.object({ t: z.literal('Space') }).transform(() => ' '),
    z.object({ t: z.literal('LineBreak') }).transform(() => '\n'),
    z
      .object({ t: z.literal('Link'), c: z.tuple([z.unknown(), inlinesSchema, z.unknown()]) })
      .transform(({ c }) => c[1]),
  ]),
);
const inlinesSchema = z.array(inlineSchema).transform((parts) => parts.join(''));
const cellSchema = z
  .tuple([z.unknown(), z.unknown(), z.number(), z.number(), z.array(z.object({ c: inlinesSchema }))])
  .transform(([, , rows, columns, blocks]) => ({ text: blocks.map(({ c }) => c).join('\n'), rows, columns }));
const rowSchema = z.tuple([z.unknown(), z.array(cellSchema)]).transform(([, cells]) => cells);
const tableSchema = z
  .tuple([
    z.unknown(),
    z.unknown(),
    z.unknown(),
    z.tuple([z.unknown(), z.array(rowSchema)]),
    z.array(z.tuple([z.unknown(), z.unknown(), z.unknown(), z.array(rowSchema)])),
    z.unknown(),
  ])
  .transform(([, , , head, bodies]) => [...head[1], ...bodies.flatMap((body) => body[3])]);
const documentSchema = z.object({ blocks: z.array(nodeSchema) });

/** Tables, each an array of rows of cell texts. */
export const cellsOf = (json: string): string[][][] =>
  documentSchema
    .parse(JSON.parse(json))
    .blocks.filter(({ t }) => t === 'Table')
    .map(({ c }) => tableSchema.parse(c).map((row) => row.map(({ text }) => text)));
