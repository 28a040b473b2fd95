/** What a result of a format begins with; any format may also come as a zip of several files. */
const signatures: Readonly<Record<string, readonly string[]>> = {
  bmp: ['BM'],
  gif: ['GIF8'],
  jpeg: ['\xff\xd8\xff'],
  jpg: ['\xff\xd8\xff'],
  pdf: ['%PDF-'],
  png: ['\x89PNG'],
  tif: ['II', 'MM'],
  tiff: ['II', 'MM'],
  webp: ['RIFF'],
  ...Object.fromEntries(['docx', 'epub', 'odp', 'ods', 'odt', 'pptx', 'xlsx', 'zip'].map((format) => [format, ['PK']])),
};
/** Some programs write a line or two before it. */
const pdfHeaderWithin = 1_024;
/** Formats that are, or may hold, a web page. */
const markup = ['htm', 'html', 'mht', 'mhtml', 'php', 'shtml', 'xht', 'xhtml', 'xml'];
const beginOfPage = /^\ufeff?\s*(<!--[^]*?-->\s*)*<(!doctype\s+html|html|head|body|h1|title|center)\b/i;

/** Bytes that `problemOfResult` looks at. */
export const checkedBytes = pdfHeaderWithin;

/**
 * Why the beginning of a body is not that of a converted file, as a proxy's page or nothing at all is not; undefined if
 * it may be one. To be asked where the service announced no size, which tells more.
 *
 * @param result.output target format, `format` or `format-type`; undefined: unknown, so that anything but nothing is taken.
 */
export function problemOfResult(result: {
  start: Buffer;
  contentType: string | undefined;
  output: string | undefined;
}): string | undefined {
  const { start, contentType = '', output } = result;
  if (start.length === 0) return 'the file is empty';
  const [format = ''] = output?.toLowerCase().split('-') ?? [];
  if (format === '' || markup.includes(format)) return undefined;
  const text = start.subarray(0, checkedBytes).toString('latin1');
  const expected = signatures[format];
  if (expected) {
    const isIt = format === 'pdf' ? text.includes('%PDF-') : expected.some((each) => text.startsWith(each));
    if (isIt || text.startsWith('PK')) return undefined;
  }
  if (beginOfPage.test(text) && (expected || /^text\/html\b/i.test(contentType))) {
    return `a web page came in place of the ${format} file`;
  }
  return expected && `what came does not begin like a ${format} file`;
}
