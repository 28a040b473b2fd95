import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { taskResponseSchema, type Endpoint, type TaskResponse } from '../contract/endpoints';
import { lookUpErrorCode } from '../contract/error-codes';
import { maxRetryAfterSeconds, parseHours } from '../contract/retry-after';
import { ConversionApiError, unreadableAnswer } from './errors';
import { parseJson } from '../contract/json';
import { textOf, type Quote } from './quote';
import { readRetryAfter } from './rate-limit/headers';

interface RawAnswer {
  readonly endpoint: Endpoint;
  readonly httpStatus: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** To be called if the service refused the token of the request; see `TokenSource.refused`. */
  readonly tokenRefused?: () => Promise<boolean>;
}

export interface ReadAnswer extends TaskResponse {
  /** The response it was read from, to report what is missing. */
  readonly raw: RawAnswer;
}

/** Reads the task response (section "Task response body"). Throws if it holds an error or has another shape. */
export function readAnswer(answer: RawAnswer, quote: Quote): ReadAnswer {
  const json = parseJson(answer.text);
  const refusal = findRefusal(answer, json, quote);
  if (refusal) throw refusal;
  const parsed = taskResponseSchema.safeParse(json);
  if (parsed.success) return { ...parsed.data, raw: answer };
  throw unreadableShape(answer, quote, parsed.error);
}

/** The error that a response stands for, by its body or status; undefined for a success of any shape. */
export function findRefusal(answer: RawAnswer, json: unknown, quote: Quote): ConversionApiError | undefined {
  const { endpoint, httpStatus, headers } = answer;
  const documented = findDocumentError(json);
  const retryAfterSeconds = orderedWait(httpStatus, headers, documented?.code);
  const asked = headers['retry-after'] ?? '';
  const shortened =
    retryAfterSeconds === maxRetryAfterSeconds ? ` (RETRY-AFTER: ${quote(asked)}; 31 days are waited)` : '';
  if (documented) {
    const task = taskResponseSchema.safeParse(json).data ?? {};
    const taskId = openTask(task);
    const code = quote(documented.code);
    return new ConversionApiError({
      code,
      message: `${endpoint}: the service answered ${code} (HTTP ${httpStatus}): ${quote(documented.message) || 'no explanation'}${shortened}`,
      endpoint,
      httpStatus,
      mayHaveExecuted: taskId !== undefined || mayHaveExecuted(documented, httpStatus, task),
      taskId,
      mayHaveOtherToken: code === 'INVALID_CREDENTIAL' ? answer.tokenRefused : undefined,
      retryAfterSeconds:
        retryAfterSeconds ?? (code === 'FREE_APP_LIMITED' ? parseHours(documented.message) : undefined),
    });
  }
  if (httpStatus >= 200 && httpStatus < 300) return undefined;
  return new ConversionApiError({
    // A gateway's own 429 means the same as the document's: nothing was executed, retry later.
    code: httpStatus === 429 ? 'TOO_MANY_REQUESTS' : `HTTP_${httpStatus}`,
    message: `${endpoint}: HTTP ${httpStatus} without an error of the document's shape${excerpt(answer, quote)}${shortened}`,
    endpoint,
    httpStatus,
    mayHaveExecuted: httpStatus !== 429,
    retryAfterSeconds,
  });
}

/** The wait that RETRY-AFTER orders, in seconds, if the status or the code is a temporary one. */
export function orderedWait(httpStatus: number, headers: IncomingHttpHeaders, code = ''): number | undefined {
  const isPassing = httpStatus === 408 || httpStatus === 429 || httpStatus >= 500;
  return isPassing || lookUpErrorCode(code)?.class === 'rate' ? readRetryAfter(headers) : undefined;
}

/** The error for a response that is a success by its status but cannot be used. */
export function unreadableShape(answer: RawAnswer, quote: Quote, cause?: unknown): ConversionApiError {
  const { endpoint, httpStatus } = answer;
  const problem = `HTTP ${httpStatus}, but the answer is not of the document's shape${excerpt(answer, quote)}`;
  return unreadableAnswer(endpoint, problem, { httpStatus, cause });
}

/**
 * Whether the task may have run despite the error. A completed entity settles it: the task is over, and a failed task
 * is not charged. Otherwise the code's row decides; an unlisted code leaves it open if its status is 408 or 5xx, or if it came as a
 * success without a result: then it may be a gateway's.
 */
function mayHaveExecuted(error: DocumentError, httpStatus: number, task: TaskResponse): boolean {
  if (httpStatus === 429 || task.entity?.status === 'completed') return false;
  const row = lookUpErrorCode(error.code);
  if (row) return !row.provesNothingRan;
  return httpStatus >= 500 || httpStatus === 408 || (httpStatus < 300 && !task.result);
}

/** The id of a task that was answered with an error but is not over, was charged or succeeded. */
function openTask({ entity, result }: TaskResponse): string | undefined {
  if (!entity?.id) return undefined;
  const isRunning = entity.status === 'running' || entity.status === 'hold';
  const isCharged = (entity.vcredits ?? 0) > 0 || result?.output?.['status'] === 'successful';
  return isRunning || isCharged ? entity.id : undefined;
}

function excerpt({ headers, text, httpStatus }: RawAnswer, quote: Quote): string {
  // The service's own refusals have the document's shape.
  if (httpStatus === 413) {
    return '; something before the service, such as a proxy, limits the size of uploads: raise its limit (nginx: client_max_body_size)';
  }
  if (httpStatus >= 300 && httpStatus < 400) {
    return `; it points elsewhere (${quote(originOf(headers.location))}), so the base URL is not the service's own`;
  }
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') return `; it is encoded (${quote(encoding)}), which was not asked for`;
  const type = headers['content-type'] ?? 'no content type';
  return text === '' ? ' (empty body)' : ` (${quote(type)}): ${quote(text).slice(0, 200)}`;
}

/** Only the origin: the rest of a redirect's target may hold a signature. */
function originOf(location: string | undefined): string {
  return location !== undefined && URL.canParse(location) ? new URL(location).origin : 'another path';
}

interface DocumentError {
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
  if (code === undefined || code === null || code === '')
    return text === '' ? undefined : { code: unnamedCode, message: text };
  return { code: textOf(code), message: text };
}

/** Whether a value has every key of a result (section "Result keys"), which a converted file hardly has. */
export function isTaskAnswer(answer: unknown): boolean {
  const keys = ['output', 'error', 'warning'];
  const result = record.safeParse(record.safeParse(answer).data?.['result']).data;
  return result !== undefined && keys.every((key) => Object.hasOwn(result, key));
}

/**
 * The error of a response, wherever it is: `result.error`, the top-level `error`, or top-level `code` and `message`.
 * Top-level codes must look like the document's, because gateways use these keys for other things.
 */
function findDocumentError(answer: unknown): DocumentError | undefined {
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
