import { isObject, parseJson } from '../contract/json';

/** The start of a zip whose first entry has such a name. */
const zipOf = (names: string) => `PK\\x03\\x04[^]{26}(?:${names})`;
const openDocument = zipOf('mimetype');
const officeOpenXml = zipOf('\\[Content_Types\\]\\.xml|_rels/|docProps/|word/|xl/|ppt/');

/**
 * How results of a format begin, as patterns; any format may also come as a zip of several files. Formats that are not listed may begin
 * with anything.
 */
const starts = [
  ['7z', '7z\xbc\xaf'],
  ['aac', '\xff[\xf0-\xff]|ADIF|ID3'],
  ['avi', 'RIFF[^]{4}AVI '],
  ['bmp', 'BM'],
  // Some programs write RTF or XML under these names.
  ['doc ppt xls', '\xd0\xcf\x11\xe0|\xdb\xa5|\x31\xbe|\x09[\0\x02\x04\x08]|\\{\\\\rtf|<\\?xml'],
  ['docm docx dotm dotx potx ppsx pptm pptx xlsb xlsm xlsx xltx', `(?!${openDocument})PK`],
  ['epub odg odp ods odt ott', `(?!${officeOpenXml})PK`],
  ['eps ps', '(?:\x1b%-12345X[^]*)?\\s*\x04?%!|\xc5\xd0\xd3\xc6'],
  ['flac', 'fLaC|ID3'],
  ['gif', 'GIF8'],
  ['gz', '\x1f\x8b'],
  ['ico', '\0\0[\x01\x02]\0'],
  // UTF-8, with or without a byte order mark, or UTF-16.
  ['ipynb json', '(?:\xef\xbb\xbf)?[ \\t\\r\\n]*["[{\\-\\dtfn]|\xff\xfe|\xfe\xff|[^]?\0'],
  ['jpeg jpg', '\xff\xd8\xff'],
  ['jp2', '[^]{4}jP  |\xff\x4f'],
  ['avif heic m4a m4v mov mp4', '[^]{4}(?:ftyp|free|mdat|moov|skip|wide)'],
  ['mkv webm', '\x1a\x45\xdf\xa3'],
  ['mobi', '[^]{60}BOOKMOBI'],
  ['mp3', '\0*(?:ID3|\xff[\xe0-\xff])|APETAGEX|RIFF'],
  ['oga ogg opus', 'OggS'],
  // Some programs write a line or two before it.
  ['pdf', '[^]*%PDF-'],
  ['png', '\x89PNG'],
  ['psd', '8BPS'],
  ['rar', 'Rar!'],
  ['rtf', '(?:\xef\xbb\xbf)?\\s*\\{\\\\rtf'],
  ['svg', '(?:\xef\xbb\xbf)?\\s*<(?:\\?xml|!--|!DOCTYPE\\s+svg|[\\w:]*svg\\b)|\xff\xfe|\xfe\xff|\x1f\x8b'],
  ['tif tiff', 'II[*+]\0|MM\0[*+]'],
  ['wav', '(RIFF|RF64)[^]{4}WAVE'],
  ['webp', 'RIFF[^]{4}WEBP'],
  ['zip', 'PK'],
] as const;
const zipOfResults = `(?!${openDocument}|${officeOpenXml})PK`;
const signatures = new Map(
  starts.flatMap(([formats, start]) =>
    formats.split(' ').map((format) => [format, new RegExp(`^(?:${start}|${zipOfResults})`)] as const),
  ),
);
/** Formats that are, or may hold, a web page. */
const markup = ['htm', 'html', 'mht', 'mhtml', 'php', 'shtml', 'xht', 'xhtml', 'xml'];
/** Formats of text that is neither a web page nor JSON. */
const plain = ['adoc', 'csv', 'md', 'org', 'rst', 'srt', 'tex', 'tsv', 'txt', 'vtt', 'yaml', 'yml'];
const prolog = '^(?:\\xef\\xbb\\xbf)?\\s*(?:<\\?xml[^>]*>\\s*)?(?:<!--[^]*?-->\\s*)*';
const beginOfPage = new RegExp(`${prolog}<(?:!doctype\\s+html|html|head|body|h1|title|center)\\b`, 'i');
const anyElement = new RegExp(`${prolog}<[a-z][a-z0-9-]*[\\s/>]`, 'i');
/** The error that an object store sends in place of a file. */
const storeError = new RegExp(`${prolog}<Error>\\s*<Code>[^<]*</Code>\\s*<Message>`);
const pageType = /^(?:text\/html|application\/xhtml\+xml)\b/i;
/** How no text begins. Only certain cases, because a text may be about GIF89a. */
const binary = new RegExp(
  `^(?:\x89PNG\\r\\n|\xff\xd8\xff[\xdb\xe0-\xef]|GIF8[79]a[^]*\0|RIFF[^]{4}(?:WAVEfmt |WEBPVP8)|OggS\0|\x1f\x8b\x08|\0{4}|\xd0\xcf\x11\xe0|%PDF-\\d\\.\\d\\s[^]*\\d obj\\b|${openDocument}|${officeOpenXml})`,
);

/** Number of bytes that `problemOfResult` examines. */
export const checkedBytes = 1_024;

/**
 * Why the beginning of a body is not that of a converted file, but of a proxy's page, or empty; undefined if it may be one.
 *
 * @param result.output target format, `format` or `format-type`; undefined: unknown, so that anything but an empty body passes.
 */
export function problemOfResult(result: {
  start: Buffer;
  contentType: string | undefined;
  output: string | undefined;
  /** The service has stated the number of bytes. */
  isSized: boolean;
}): string | undefined {
  const { start, contentType = '', output, isSized } = result;
  const format = formatOf(output);
  const text = start.subarray(0, checkedBytes).toString('latin1');
  const [isMarkup, isPlain] = [markup.includes(format), plain.includes(format)];
  if (start.length === 0) return 'the file is empty';
  if ((isMarkup || isPlain) && binary.test(text)) return `what came is not text, and so not ${format}`;
  const mayBeOfStore = format === '' || (isSized && (isPlain || format === 'xml'));
  if (!mayBeOfStore && storeError.test(text)) return `a store's error came in place of the ${format} file`;
  if (isMarkup && isObject(parseJson(start.toString('utf8')))) return `JSON came in place of the ${format} file`;
  if (format === '' || (isMarkup && format !== 'xml')) return undefined;
  const expected = signatures.get(format);
  const isPage = beginOfPage.test(text);
  if (!isPage && expected?.test(text)) return undefined;
  // An answer from something in between hardly has the size that the service stated.
  const mayBePage = isPage || (isPlain && !isSized && anyElement.test(text));
  if ((isPage && expected) || (mayBePage && pageType.test(contentType))) {
    return `a web page came in place of the ${format} file`;
  }
  return expected && `what came does not begin like a ${format} file`;
}

/** Whether results of this format are text that is not JSON; it may still be about JSON. */
export function isPlainText(output: string | undefined): boolean {
  return plain.includes(formatOf(output));
}

/** `txt` of `txt-markdown`; empty if unknown. */
export function formatOf(output: string | undefined): string {
  return output?.toLowerCase().split('-')[0] ?? '';
}

/** Number of bytes at the end that `problemOfEnd` examines: a zip may end with a comment of 64 KB. */
export const checkedEnd = 66_000;

const mainParts = new Map(
  ['docm docx dotm dotx word/document', 'potx ppsx pptm pptx ppt/presentation', 'xlsb xlsm xlsx xltx xl/workbook']
    .map((line) => line.split(' '))
    .flatMap((family) => family.map((format) => [format, family.at(-1)] as const)),
);
/** How results with these beginnings end, except for blanks; chosen so that a part of a result does not match. */
const ends: readonly [formats: readonly string[], begin: RegExp, last: RegExp][] = [
  [['pdf'], /%PDF-/, /%%EOF/],
  [['png'], /^\x89PNG/, /IEND/],
  [['jpeg', 'jpg'], /^\xff\xd8/, /\xff\xd9/],
  // One value, or one in each line.
  [['ipynb', 'json'], /^(?:\xef\xbb\xbf)?\s*\[/, /\]$|\n\{[^\n]*\}$/],
  [['ipynb', 'json'], /^(?:\xef\xbb\xbf)?\s*\{/, /[\]}]$/],
  [['gif'], /^GIF8/, /;$/],
  [['rtf'], /^\s*\{\\rtf/, /\}$/],
  [['svg'], /^(?:\xef\xbb\xbf)?\s*</, /<\/(?:[\w.-]+:)?svg\s*>|<(?:[\w.-]+:)?svg\b[^<>]*\/>$/],
  [['fb2', 'xhtml', 'xml'], /^(?:\xef\xbb\xbf)?\s*<\?xml\b/, />$/],
];
/** Number of last bytes that must hold it. */
const lastBytes = 1_024;
/** Beginnings of the media type that the first file in an OpenDocument or EPUB names. */
const mediaTypes = new Map([
  ['epub', 'application/epub+zip'],
  ['odg', 'application/vnd.oasis.opendocument.graphics'],
  ['odp', 'application/vnd.oasis.opendocument.presentation'],
  ['ods', 'application/vnd.oasis.opendocument.spreadsheet'],
  ['odt', 'application/vnd.oasis.opendocument.text'],
]);
const mediaType = new RegExp(`^${openDocument}(application/[\\w.+-]+)`);
/** The end of a zip, and an entry of the directory before it. */
const endOfZip = 'PK\x05\x06';
const listed = 'PK\x01\x02';
const mainPart = new RegExp(`${listed}[^]{42}(word/document|ppt/presentation|xl/workbook)\\.`);

/**
 * Why the end of a body shows that it is incomplete, or of another office format; undefined if it shows neither.
 *
 * @param result.isSized the service has stated the number of bytes, and they came.
 */
export function problemOfEnd(result: {
  start: Buffer;
  end: Buffer;
  output: string | undefined;
  isSized: boolean;
  /** Number of bytes in all. */
  bytes: number;
}): string | undefined {
  const format = formatOf(result.output);
  const start = result.start.subarray(0, checkedBytes).toString('latin1');
  const isZip = signatures.has(format) && start.startsWith('PK\x03\x04');
  const last = isZip ? undefined : ends.find(([formats, begin]) => formats.includes(format) && begin.test(start))?.[2];
  const isCut = signatures.has(format) && statedBytes(start, result.start) > result.bytes;
  const directory = isZip ? directoryOf(result) : undefined;
  const lacksEnd = isCut || (isZip && !directory) || last?.test(lastOf(result.end)) === false;
  if (lacksEnd && !result.isSized) return `the end of the ${format} file is missing`;
  const type = mediaType.exec(start)?.[1];
  if (type !== undefined && !type.startsWith(mediaTypes.get(format) ?? type)) {
    return `what came is not ${format}: it is ${type}`;
  }
  const part = directory && mainPart.exec(directory.toString('latin1'))?.[1];
  const own = mainParts.get(format);
  if (part === undefined || own === undefined || part === own) return undefined;
  return `what came is not ${format}: it holds ${part}`;
}

const segment = '\x18\x53\x80\x67\x01';
/** Up to the length of all that follows, in seven bytes. */
const matroskaHeader = new RegExp(`^\x1a\x45\xdf\xa3[^]*?${segment}(?!\xff{7})[^]{7}`);

/** The size that the beginning of some formats states; 0 if it doesn't. Programs that write to a pipe can't state it. */
function statedBytes(start: string, bytes: Buffer): number {
  if (/^RIFF(?!\xff{4})[^]{4}(?:AVI |WAVE|WEBP)/.test(start)) return 8 + bytes.readUInt32LE(4);
  if (/^BM[^]{12}/.test(start)) return bytes.readUInt32LE(2);
  const header = matroskaHeader.exec(start)?.[0].length;
  return header === undefined ? 0 : header + bytes.readUIntBE(header - 6, 6);
}

/** The end without trailing blanks. */
function lastOf(end: Buffer): string {
  let length = end.length;
  while (length > 0 && blanks.has(end[length - 1])) length -= 1;
  return end.toString('latin1', Math.max(length - lastBytes, 0), length);
}

const blanks = new Set<number | undefined>(Buffer.from('\0\t\n\r '));

/**
 * The directory at the end of a zip, as far as it is in the last of its bytes. A zip inside another ends like one, but more than its
 * comment follows, and it tells its place from its own beginning.
 */
function directoryOf({ end, bytes }: { end: Buffer; bytes: number }): Buffer | undefined {
  for (let at = end.lastIndexOf(endOfZip); at !== -1; at = at === 0 ? -1 : end.lastIndexOf(endOfZip, at - 1)) {
    const after = at + 22;
    if (after > end.length) continue;
    const [size, start] = [end.readUInt32LE(at + 12), end.readUInt32LE(at + 16)];
    const isLast = after + end.readUInt16LE(at + 20) === end.length || start + size === bytes - end.length + at;
    if (isLast) return end.subarray(Math.max(at - size, 0), at);
  }
  return undefined;
}
