/** Parameters of Content-Type and Content-Disposition, in the forms that clients and proxies write. */

/**
 * A backslash escapes only a quote or a backslash, because old browsers send whole Windows paths. The pattern is unambiguous, or a header
 * of backslashes would take years.
 */
const parameter = /;\s*([^\s=;"]+)\s*=\s*(?:"((?:\\["\\]|\\(?!["\\])|[^"\\])*\\?)"|([^;\s]*))/g;

/** By name in lower case; the first of two with the same name. */
export function parametersIn(header: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  parameter.lastIndex = 0;
  for (let found = parameter.exec(header); found; found = parameter.exec(header)) {
    const [, name = '', quoted, bare = ''] = found;
    const key = name.toLowerCase();
    if (!parameters.has(key)) parameters.set(key, quoted?.replace(/\\(["\\])/g, '$1') ?? bare);
  }
  return parameters;
}

/** The name of a file: `filename*` before `filename` (RFC 6266). Undefined if the part is not a file. */
export function fileNameIn(parameters: ReadonlyMap<string, string>): string | undefined {
  const usual = parameters.get('filename');
  return extendedValue(parameters.get('filename*')) ?? (usual === undefined ? undefined : decodeWords(usual));
}

/** `UTF-8''Gr%C3%B6%C3%9Fe.md` (RFC 5987); undefined for any other form. */
function extendedValue(value = ''): string | undefined {
  const [, charset, encoded = ''] = /^([\w-]+)'[^']*'(.*)$/s.exec(value) ?? [];
  if (charset === undefined) return undefined;
  return decodeBytes(
    charset,
    encoded.replace(/%([0-9a-f]{2})/gi, (_all, hex: string) => String.fromCharCode(parseInt(hex, 16))),
  );
}

/** `=?utf-8?B?R3LDtsOfZS5tZA==?=` (RFC 2047), as .NET and mail programs write names beyond ASCII. */
function decodeWords(value: string): string {
  return value.replace(
    /=\?([\w-]+)\?([bq])\?([^?\s]*)\?=(?:\s+(?==\?))?/gi,
    (all, charset: string, kind: string, text: string) => {
      const quoted = (): string =>
        text
          .replace(/_/g, ' ')
          .replace(/=([0-9a-f]{2})/gi, (_all, hex: string) => String.fromCharCode(parseInt(hex, 16)));
      const bytes = kind.toLowerCase() === 'b' ? Buffer.from(text, 'base64').toString('latin1') : quoted();
      return decodeBytes(charset, bytes) ?? all;
    },
  );
}

/** Decodes a text whose letters are bytes in that character set. */
function decodeBytes(charset: string, bytes: string): string | undefined {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(Buffer.from(bytes, 'latin1'));
  } catch {
    return undefined;
  }
}
