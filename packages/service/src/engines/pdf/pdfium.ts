import type { PDFiumPage } from '@hyzyla/pdfium';

/** Functions of PDFium that are used here and that its wrapper lacks. */
interface Pdfium {
  readonly HEAPU8: Uint8Array;
  readonly wasmExports: { malloc: (size: number) => number; free: (place: number) => void };
  _FORM_OnAfterLoadPage: (page: number, form: number) => void;
  _FORM_OnBeforeClosePage: (page: number, form: number) => void;
  _FPDFAnnot_GetFormFieldName: (form: number, field: number, place: number, bytes: number) => number;
  _FPDFAnnot_GetStringValue: (annotation: number, key: number, place: number, bytes: number) => number;
  _FPDFAnnot_GetSubtype: (annotation: number) => number;
  _FPDFAnnot_IsChecked: (form: number, field: number) => number;
  _FPDFDoc_GetAttachmentCount: (file: number) => number;
  _FPDFClipPath_CountPaths: (clip: number) => number;
  _FPDFClipPath_CountPathSegments: (clip: number, path: number) => number;
  _FPDFClipPath_GetPathSegment: (clip: number, path: number, index: number) => number;
  _FPDFPageObj_GetBounds: (object: number, left: number, bottom: number, right: number, top: number) => number;
  _FPDFPageObj_GetClipPath: (object: number) => number;
  _FPDFPageObj_GetType: (object: number) => number;
  _FPDFPage_CloseAnnot: (annotation: number) => void;
  _FPDFPage_CountObjects: (page: number) => number;
  _FPDFPage_Flatten: (page: number, usage: number) => number;
  _FPDFPage_GetAnnot: (page: number, index: number) => number;
  _FPDFPage_GetAnnotCount: (page: number) => number;
  _FPDFPage_GetObject: (page: number, index: number) => number;
  _FPDFPathSegment_GetPoint: (segment: number, x: number, y: number) => number;
  _FPDFText_ClosePage: (text: number) => void;
  _FPDFText_CountChars: (text: number) => number;
  _FPDFText_CountRects: (text: number, start: number, count: number) => number;
  _FPDFText_GetRect: (text: number, index: number, left: number, top: number, right: number, bottom: number) => number;
  _FPDFText_GetCharBox: (
    text: number,
    index: number,
    left: number,
    right: number,
    bottom: number,
    top: number,
  ) => number;
  _FPDFText_GetTextObject: (text: number, index: number) => number;
  _FPDFText_GetUnicode: (text: number, index: number) => number;
  _FPDFText_IsHyphen: (text: number, index: number) => number;
  _FPDFText_LoadPage: (page: number) => number;
  _FPDF_ClosePage: (page: number) => void;
  _FPDF_GetFormType: (file: number) => number;
}

/** Private members of the wrapper. */
export function pdfiumOf(page: PDFiumPage): { pdfium: Pdfium; file: number; handle: number } {
  const wrapped: unknown = page;
  const { module, documentIdx, pageIdx } = wrapped as { module: Pdfium; documentIdx: number; pageIdx: number };
  return { pdfium: module, file: documentIdx, handle: pageIdx };
}
