/** Names of uploaded files: returned with the result, never used as a path. */

const maxLength = 200;

/** The last part of a name from outside, without characters that could confuse a header, a terminal or a file system. */
export function sanitizeFileName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? '';
  // Includes line ends and controls of text direction.
  const clean = last.replace(/[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"<>|:*?]/gu, '_').trim();
  const tail = fileExtension(clean) === '' ? '' : clean.slice(clean.lastIndexOf('.'));
  const base = clean.slice(0, clean.length - tail.length);
  // By code points: half of a surrogate pair cannot be encoded in a header.
  const short = Array.from(base).slice(0, maxLength).join('');
  return `${short || 'file'}${tail}`;
}

/** What follows the last dot, in lower case; empty without one. */
export function fileExtension(name: string): string {
  return /\.([^.]{1,20})$/.exec(name)?.[1]?.toLowerCase() ?? '';
}

export function withExtension(name: string, extension: string): string {
  return `${baseName(name)}.${extension}`;
}

export function baseName(name: string): string {
  return name.replace(/\.[^.]{1,20}$/, '') || 'file';
}

/** The header that makes a client save the file under this name (RFC 6266). */
export function contentDisposition(name: string): string {
  const ascii = name.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(name).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16)}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
