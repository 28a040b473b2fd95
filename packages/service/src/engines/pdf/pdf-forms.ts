import type { PDFiumDocument, PDFiumPage } from '@hyzyla/pdfium';
import { fewOf, type Warnings } from '../conversion';
import { pdfiumOf } from './pdfium';

/** Forms and notes of a PDF are stored beside its pages, while PDFium draws and reads only pages. */

/** The page with all that was filled in, typed on or stamped. */
export function pageWithForms(document: PDFiumDocument, number: number): PDFiumPage {
  const page = document.getPage(number);
  const { pdfium, handle } = pdfiumOf(page);
  if (pdfium._FPDFPage_GetAnnotCount(handle) === 0) return page;
  // Gives an appearance to values that have none.
  const form = document.initializeFormFields();
  pdfium._FORM_OnAfterLoadPage(handle, form);
  pdfium._FPDFPage_Flatten(handle, 0);
  pdfium._FORM_OnBeforeClosePage(handle, form);
  pdfium._FPDF_ClosePage(handle);
  return document.getPage(number);
}

/** Whether a page has annotations other than links. */
export function hasNotes(document: PDFiumDocument, number: number): boolean {
  return annotationsOf(document.getPage(number)).some(({ kind }) => kind !== link);
}

const [link, freeText, stamp, popup, attached, formField] = [2, 3, 13, 16, 17, 20];
/** Their words are on the page, or in another annotation. */
const noComment = new Set([link, freeText, stamp, popup, attached, formField]);
/** The type of forms that only Adobe's programs show. */
const xfa = 2;
const maxNameBytes = 512;

/** Warns about contents of forms that are not shown; `isText`: not as text. */
export function describeForms(document: PDFiumDocument, numbers: readonly number[], isText: boolean): Warnings {
  const warnings: Warnings = {};
  const ticked: string[] = [];
  for (const number of numbers) {
    const page = document.getPage(number);
    const { pdfium, file } = pdfiumOf(page);
    if (pdfium._FPDF_GetFormType(file) === xfa) {
      warnings['FORM_LOST'] =
        'The form is of a kind (XFA) that only programs of Adobe show; what was filled in is not in the result. Print it to PDF there, and convert that.';
    }
    if (isText) ticked.push(...tickedOn(document, page));
  }
  if (ticked.length > 0) {
    warnings['FORM_MARKS_LOST'] =
      `${ticked.length} box(es) of the form are ticked, which text does not show: ${fewOf(ticked)}. Convert to a picture to see them.`;
  }
  return warnings;
}

/** Warns about contents outside the pages, and so outside their pictures and text: pop-up comments and attached files. */
export function describeAttached(document: PDFiumDocument, numbers: readonly number[]): Warnings {
  const warnings: Warnings = {};
  const { pdfium, file } = pdfiumOf(document.getPage(0));
  let [comments, files] = [0, Math.max(0, pdfium._FPDFDoc_GetAttachmentCount(file))];
  for (const page of numbers.map((number) => document.getPage(number))) {
    for (const { kind, hasWords } of annotationsOf(page)) {
      if (kind === attached) files += 1;
      else if (hasWords && !noComment.has(kind)) comments += 1;
    }
  }
  if (comments > 0) {
    warnings['COMMENTS_LOST'] = `${comments} comment(s) on pages of the PDF are not in the result.`;
  }
  if (files > 0) {
    warnings['ATTACHMENTS_LOST'] =
      `${files} file(s) attached to the PDF are not in the result. Save them with a program that shows PDF, and convert each of them.`;
  }
  return warnings;
}

/** Warns about what cannot be copied with a page. */
export function describeUncopied(document: PDFiumDocument, numbers: readonly number[]): Warnings {
  const annotations = numbers.flatMap((number) => annotationsOf(document.getPage(number)));
  const links = annotations.filter(({ kind }) => kind === link).length;
  return {
    ...describeAttached(document, numbers),
    ...(links > 0 && { LINKS_LOST: `${links} link(s) on pages of the PDF are not in the result.` }),
  };
}

function tickedOn(document: PDFiumDocument, page: PDFiumPage): string[] {
  const { pdfium, handle } = pdfiumOf(page);
  const fields = annotationsOf(page).filter(({ kind }) => kind === formField);
  if (fields.length === 0) return [];
  const form = document.initializeFormFields();
  pdfium._FORM_OnAfterLoadPage(handle, form);
  const memory = pdfium.wasmExports.malloc(maxNameBytes);
  try {
    return fields.flatMap(({ index }) => {
      const field = pdfium._FPDFPage_GetAnnot(handle, index);
      const isTicked = pdfium._FPDFAnnot_IsChecked(form, field) === 1;
      const bytes = isTicked ? pdfium._FPDFAnnot_GetFormFieldName(form, field, memory, maxNameBytes) : 0;
      pdfium._FPDFPage_CloseAnnot(field);
      const name = Buffer.from(pdfium.HEAPU8.subarray(memory, memory + Math.max(0, Math.min(bytes, maxNameBytes) - 2)));
      return isTicked ? [name.toString('utf16le')] : [];
    });
  } finally {
    pdfium.wasmExports.free(memory);
  }
}

const keyOfWords = Buffer.from('Contents\0');
/** Length of the terminator of a string. */
const emptyBytes = 2;

function annotationsOf(page: PDFiumPage): { kind: number; index: number; hasWords: boolean }[] {
  const { pdfium, handle } = pdfiumOf(page);
  const key = pdfium.wasmExports.malloc(keyOfWords.length);
  pdfium.HEAPU8.set(keyOfWords, key);
  const annotations = Array.from({ length: pdfium._FPDFPage_GetAnnotCount(handle) }, (_, index) => {
    const annotation = pdfium._FPDFPage_GetAnnot(handle, index);
    const kind = pdfium._FPDFAnnot_GetSubtype(annotation);
    const hasWords = pdfium._FPDFAnnot_GetStringValue(annotation, key, 0, 0) > emptyBytes;
    pdfium._FPDFPage_CloseAnnot(annotation);
    return { kind, index, hasWords };
  });
  pdfium.wasmExports.free(key);
  return annotations;
}
