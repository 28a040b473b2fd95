/** The value; undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    // Some servers send a byte order mark, which JSON does not allow.
    const value: unknown = JSON.parse(text.replace(/^\ufeff/, ''));
    return value;
  } catch {
    return undefined;
  }
}

export function isObject(json: unknown): boolean {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}
