/** The images that typst typesets, told by their first bytes: what a document calls an image need not be one. */
type ImageKind = 'png' | 'jpg' | 'gif' | 'webp' | 'svg';

export function imageKind(data: Uint8Array): ImageKind | undefined {
  const head = Buffer.from(data.subarray(0, 1024)).toString('latin1');
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'png';
  if (head.startsWith('\xff\xd8\xff')) return 'jpg';
  if (head.startsWith('GIF8')) return 'gif';
  if (head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP') return 'webp';
  if (/^(\xef\xbb\xbf)?\s*</.test(head) && head.includes('<svg')) return 'svg';
  return undefined;
}
