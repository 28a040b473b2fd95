import type { Readable } from 'node:stream';
import type { Format } from '../contract/endpoints';
import type { RateMemory, Turn } from './rate-limit/rate-gate';
import type { RequestObserver } from './request-observer';
import type { RequestTracer } from './request-spans';

export type { RateMemory } from './rate-limit/rate-gate';

/** How long each part of a request may take. A value of 0 switches that limit off. */
export interface ApiTimeouts {
  /** Until TCP and TLS are up. Default 10,000. */
  readonly connectMs: number;
  /** From the last byte of the request to the first of the answer. Default 60,000. */
  readonly headersMs: number;
  /** The longest silence between two chunks of a file; for any other answer, all of it after its headers. Default 60,000. */
  readonly bodyMs: number;
  /** The longest time in which an upload makes no progress. Default 60,000. */
  readonly stallMs: number;
}

export interface ConversionApiOptions {
  /** For example `https://api.vertopal.com`; may carry a path prefix. */
  baseUrl: string;
  appId: string;
  /** The app token, or a function that reads it anew for each request. It is sent to the base URL's origin only. */
  token: string | (() => string);
  timeouts?: Partial<ApiTimeouts> | undefined;
  /** Where the end of a RETRY-AFTER outlives the process. Default: nowhere. */
  rateMemory?: RateMemory | undefined;
  /** Default: nobody. */
  observer?: RequestObserver | undefined;
  /** Default: no spans. */
  tracer?: RequestTracer | undefined;
}

/** How a request waits for its turn at the rate limit (section "Limits"); `signal` defaults to the request's own. */
export interface RequestTurn extends Turn {
  /** Awaited when its turn has come, right before the first byte; when it throws, nothing is sent. */
  readonly beforeSend?: (() => Promise<void>) | undefined;
  /** By then the answer to a request without a file is whole, or the request is given up; of `performance.now()`. Default: as `timeouts` have it. */
  readonly answerByMs?: number | undefined;
}

/** A file to upload. `open` is called once for each upload, so that every attempt reads from the start. */
export interface UploadSource {
  /** File name, of which the service reads the extension. */
  readonly name: string;
  /** Exact size in bytes; an upload that turns out shorter or longer fails with FILE_CHANGED. */
  readonly size: number;
  open(): AsyncIterable<Uint8Array>;
}

/** What upload/file answers. */
export interface UploadReceipt {
  /** Links the convert task to this upload. */
  readonly connector: string;
  readonly name?: string;
  readonly size?: number;
  /** As the service wrote it; its time zone is not documented. */
  readonly expiresAt?: string;
  readonly warnings: Readonly<Record<string, string>>;
}

/** Where a task stands: the answer to convert/file, or the monitored part of task/response. */
export interface TaskSnapshot {
  /** `entity.id`. */
  readonly taskId?: string;
  /** `hold`, `running`, `completed`, or a value the document does not list, verbatim. */
  readonly status: string;
  /** Links the next task to this one. */
  readonly connector?: string;
  /** It is completed, and neither output nor error is there yet. */
  readonly isWithoutResult?: true;
  /** Output status of the conversion; `successful` is the only one documented. */
  readonly outputStatus?: string;
  /** The task's own error; absent when there is none. */
  readonly error?: { readonly code: string; readonly message: string };
  readonly warnings: Readonly<Record<string, string>>;
  readonly vcredits?: number;
  readonly durationSeconds?: number;
}

/** What download/url answers; pass it to `download` as it is. */
export interface DownloadTicket {
  readonly connector: string;
  /** The service's name for the output: never trusted as a path. */
  readonly name?: string;
  readonly size?: number;
  readonly expiresAt?: string;
  /** Relative, on the service's own origin, or elsewhere. */
  readonly url?: string;
  /** Absent: none. */
  readonly warnings?: Readonly<Record<string, string>>;
}

/** The converted file's bytes. */
export interface DownloadStream {
  /** Must be read to its end or destroyed. */
  readonly body: Readable;
  readonly contentLength?: number;
}

/**
 * The document's client: one method for each endpoint a job needs. It never retries; every failure is a `ConversionApiError`
 * that says whether the request may have been executed. Errors of an upload's own source pass through unchanged.
 */
export interface ConversionApi {
  /** Stores a file at the service (`upload/file`). Repeat-safe: a second upload costs a request and nothing else. */
  uploadFile(options: {
    file: UploadSource;
    signal?: AbortSignal | undefined;
    turn?: RequestTurn | undefined;
    /** Bytes of the file handed to the connection so far. */
    onProgress?: ((sentBytes: number) => void) | undefined;
  }): Promise<UploadReceipt>;
  /** Submits a conversion (`convert/file`). Not repeat-safe: read `mayHaveExecuted` of the error before sending it again. */
  convertFile(options: {
    connector: string;
    /** Target format, `format` or `format-type`. */
    output: string;
    /** Input format; without it the uploaded file's extension decides. */
    input?: string | undefined;
    /** `sync`: answered when the conversion is done, for which `turn.answerByMs` alone is the limit. Default `async`. */
    mode?: 'async' | 'sync' | undefined;
    callback?: string | undefined;
    signal?: AbortSignal | undefined;
    turn?: RequestTurn | undefined;
  }): Promise<TaskSnapshot>;
  /** Where a task stands now (`task/response`). The monitored task's error is in the snapshot, it is not thrown. */
  taskResponse(options: {
    connector: string;
    signal?: AbortSignal | undefined;
    turn?: RequestTurn | undefined;
  }): Promise<TaskSnapshot>;
  /** A ticket for the output of a completed conversion (`download/url`). Repeat-safe. */
  downloadUrl(options: {
    connector: string;
    signal?: AbortSignal | undefined;
    turn?: RequestTurn | undefined;
  }): Promise<DownloadTicket>;
  /** Opens the output's byte stream (`download/url/get`). Repeat-safe. The signal also ends the stream. */
  download(options: {
    ticket: DownloadTicket;
    signal?: AbortSignal | undefined;
    turn?: RequestTurn | undefined;
  }): Promise<DownloadStream>;
  /** The formats that convert, as inputs or as outputs, optionally those that pair with `format` (`convert/formats`). */
  formats(options: {
    sublist: 'inputs' | 'outputs';
    format?: string | undefined;
    signal?: AbortSignal | undefined;
    turn?: RequestTurn | undefined;
  }): Promise<Format[]>;
  /** One format (`format/get`). */
  format(options: { format: string; signal?: AbortSignal | undefined }): Promise<Format>;
  /** Whether the pair converts (`convert/graph`). An unknown format is an error. */
  canConvert(options: { input: string; output: string; signal?: AbortSignal | undefined }): Promise<boolean>;
  /** Waits for requests under way and closes the connections. */
  close(): Promise<void>;
}
