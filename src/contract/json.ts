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

/** Whether a JSON value is an object, and neither null nor an array. */
export function isObject(json: unknown): json is Record<string, unknown> {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}
