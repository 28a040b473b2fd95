/** The shape of a pandoc document in JSON, as far as it is looked into here: everything is a node `{ t, c }`. */
export interface Node {
  t: string;
  c?: unknown;
}

export type Attributes = [id: string, classes: string[], pairs: [string, string][]];

/** Attributes look the same wherever they stand: an identifier, classes, and pairs. */
export function isAttributes(value: unknown): value is Attributes {
  if (!Array.isArray(value) || value.length !== 3) return false;
  const items: readonly unknown[] = value;
  const [id, classes, pairs] = items;
  return (
    typeof id === 'string' &&
    Array.isArray(classes) &&
    classes.every((item) => typeof item === 'string') &&
    Array.isArray(pairs) &&
    pairs.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every((item) => typeof item === 'string'))
  );
}

/** One of the parts that a node consists of. */
export function part(node: Node, index: number): unknown {
  return Array.isArray(node.c) ? node.c[index] : undefined;
}

/** The URL of a target `[url, title]`. */
export function firstOf(value: unknown): string {
  const first: unknown = Array.isArray(value) ? value[0] : undefined;
  return typeof first === 'string' ? first : '';
}

export function isNode(value: unknown): value is Node {
  return isObject(value) && typeof value['t'] === 'string';
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
