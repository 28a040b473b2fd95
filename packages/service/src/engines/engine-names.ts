/** Every engine, the first choice for a pair of formats before the others. */
export const engineNames = ['sharp', 'pdfium', 'sheets', 'pandoc', 'typst'] as const;

export type EngineName = (typeof engineNames)[number];
