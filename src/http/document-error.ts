import { z } from 'zod';

export interface DocumentError {
  readonly code: string;
  readonly message: string;
}

/** Used when a service filled the error object but gave no code. */
const unnamedCode = 'UNNAMED_ERROR';
const codePattern = /^[A-Z][A-Z0-9_]+$/;

const record = z.record(z.string(), z.unknown());

/** The error in an error object (section "Result keys"); none if missing, `{}` or, as some servers write it, `[]`. */
export function readErrorObject(value: unknown): DocumentError | undefined {
  const parsed = record.safeParse(value);
  if (!parsed.success || Object.keys(parsed.data).length === 0) return undefined;
  const { code, message } = parsed.data;
  const text = typeof message === 'string' ? message : '';
  // `{ "code": null, "message": "" }` is an empty object written out.
  if (isBlank(code)) return text === '' ? undefined : { code: unnamedCode, message: text };
  return { code: typeof code === 'string' ? code : JSON.stringify(code), message: text };
}

/**
 * The error of a response, wherever it is: `result.error`, the top-level `error`, or top-level `code` and `message`.
 * Top-level codes must look like the document's, because gateways use these keys for other things.
 */
export function findDocumentError(answer: unknown): DocumentError | undefined {
  const top = record.safeParse(answer);
  if (!top.success) return undefined;
  const result = record.safeParse(top.data['result']);
  const inResult = result.success ? readErrorObject(result.data['error']) : undefined;
  if (inResult) return inResult;

  const { error, code, message } = top.data;
  if (typeof error === 'string' && codePattern.test(error)) {
    return { code: error, message: typeof message === 'string' ? message : '' };
  }
  const atTop = readErrorObject(error);
  if (atTop && codePattern.test(atTop.code)) return atTop;
  if (typeof code === 'string' && codePattern.test(code) && typeof message === 'string') return { code, message };
  return undefined;
}

function isBlank(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}
