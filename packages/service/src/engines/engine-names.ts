/** Every engine, the first choice for a pair of formats before the others. */
export const engineNames = [
  'libreoffice',
  'chromium',
  'sharp',
  'tesseract',
  'pdfium',
  'sheets',
  'pandoc',
  'typst',
  'ffmpeg',
] as const;

/** Those that come with this package, as far as its optional dependencies are installed. */
export const engineNamesOfNpm = ['sharp', 'pdfium', 'sheets', 'pandoc', 'typst'] as const satisfies EngineName[];

export type EngineName = (typeof engineNames)[number];
