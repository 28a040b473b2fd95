import { z } from 'zod';

const id = z.guid().toLowerCase();
const bodySchema = z.looseObject({
  entity: z.looseObject({ id }).optional().catch(undefined),
  result: z
    .looseObject({ output: z.looseObject({ connector: id }).optional().catch(undefined) })
    .optional()
    .catch(undefined),
});

/**
 * The task's id in a callback's body, where the answers of the document have it. The body is neither documented nor signed: this is a
 * hint for a job that has no other, and nothing else of the body is kept.
 */
export function readTaskHint(body: Buffer): string | undefined {
  let json: unknown;
  try {
    json = JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
  const { data } = bodySchema.safeParse(json);
  return data?.entity?.id ?? data?.result?.output?.connector;
}
