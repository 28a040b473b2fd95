import type { Readable } from 'node:stream';
import type { Endpoint, Format } from '../contract/endpoints';
import type { ConversionParameters } from '../job/parameters';
import type { ClientErrorCode } from './errors';
import type { RateMemory, Turn } from './rate-limit/rate-gate';
import type { TokenSource } from './token-source';

export type { RateMemory } from './rate-limit/rate-gate';

/** Time limits for the parts of a request. 0 disables a limit. */
export interface ApiTimeouts {
  /** Until TCP and TLS are established. Default 10,000. */
  readonly connectMs: number;
  /** From the last byte of the request to the first of the response. Default 60,000. */
  readonly headersMs: number;
  /** The longest silence between two chunks of a file; for any other response, its whole body. Default 60,000. */
  readonly bodyMs: number;
  /** The longest time that an upload may make no progress. Default 60,000. */
  readonly stallMs: number;
}

export interface ConversionApiOptions {
  /** For example `https://api.vertopal.com`; may include a path prefix. */
  baseUrl: string;
  appId: string;
  /** The app token, or where it comes from. It is sent only to the base URL's origin. */
  token: string | TokenSource;
  timeouts?: Partial<ApiTimeouts> | undefined;
  /** Keeps the end of a RETRY-AFTER across restarts. Default: not kept. */
  rateMemory?: RateMemory | undefined;
  /** Default: none. */
  observer?: RequestObserver | undefined;
}

/** How a request waits for its turn at the rate limit (section "Limits"); `signal` defaults to the request's own. */
export interface RequestTurn extends Turn {
  /** Awaited once the turn has come, right before the first byte; if it throws, nothing is sent. */
  readonly beforeSend?: (() => Promise<void>) | undefined;
  /** Deadline, as `performance.now()`, for the whole response to a request without a file. Default: by `timeouts`. */
  readonly answerByMs?: number | undefined;
}

/** Options of every request of a job. */
export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  readonly turn?: RequestTurn | undefined;
}

export interface ResultOptions extends RequestOptions {
  readonly ticket: DownloadTicket;
  /**
   * Target format, against which the first bytes are checked: a page, an error or an empty body fails with UNREADABLE_RESPONSE. Default:
   * only an empty body does.
   */
  readonly output?: string | undefined;
}

export interface UploadOptions extends RequestOptions {
  readonly file: UploadSource;
  /** Bytes of the file handed to the connection so far. */
  readonly onProgress?: ((sentBytes: number) => void) | undefined;
}

/** A file to upload. `open` is called once per upload, so that every attempt reads from the start. */
export interface UploadSource {
  /** The service reads the file extension from this name. */
  readonly name: string;
  /** Exact size in bytes; the upload fails with FILE_CHANGED if the content is shorter or longer. */
  readonly size: number;
  open(): AsyncIterable<Uint8Array>;
}

/** The response of upload/file. */
interface UploadReceipt {
  /** Links the convert task to this upload. */
  readonly connector: string;
  readonly warnings: Readonly<Record<string, string>>;
}

/** The state of a task: the response of convert/file, or the monitored part of task/response. */
export interface TaskSnapshot {
  readonly taskId?: string;
  /** `hold`, `running`, `completed`, or a value that the document does not list, safe for a message. */
  readonly status: string;
  /** Links the next task to this one. */
  readonly connector?: string;
  /** The task is completed, but has neither output nor error yet. */
  readonly isWithoutResult?: true;
  /** Output status of the conversion, safe for a message; the document lists only `successful`. */
  readonly outputStatus?: string;
  /** The task's own error; absent if there is none. */
  readonly error?: { readonly code: string; readonly message: string };
  readonly warnings: Readonly<Record<string, string>>;
  readonly vcredits?: number;
  readonly durationSeconds?: number;
  /** What was sent to start the task, if it was asked for and the service told it. */
  readonly payload?: unknown;
}

/** The response of download/url; pass it to `download` unchanged. */
export interface DownloadTicket {
  readonly connector: string;
  readonly size?: number;
  /** Relative, on the service's own origin, or on another host. */
  readonly url?: string;
  readonly warnings?: Readonly<Record<string, string>>;
}

export interface DownloadStream {
  /** Must be read to the end or destroyed. */
  readonly body: Readable;
  readonly contentLength?: number;
}

/**
 * A client for the document's API, with one method for each endpoint a job needs. It never retries. Every failure is a
 * `ConversionApiError` that says whether the request may have been executed; errors from an upload's own source pass
 * through unchanged.
 */
export interface ConversionApi {
  /** Uploads a file (`upload/file`). Safe to repeat: a second upload only costs a request. */
  uploadFile(options: UploadOptions): Promise<UploadReceipt>;
  /** Submits a conversion (`convert/file`). Not safe to repeat: check the error's `mayHaveExecuted` before a retry. */
  convertFile(
    options: RequestOptions & {
      connector: string;
      /** Target format: `format` or `format-type`. */
      output: string;
      /** Input format. Default: decided by the uploaded file's extension. */
      input?: string | undefined;
      /** Besides the formats. */
      parameters?: ConversionParameters | undefined;
      /** With `sync` the response waits for the conversion, limited only by `turn.answerByMs` if set. Default `async`. */
      mode?: 'async' | 'sync' | undefined;
      callback?: string | undefined;
    },
  ): Promise<TaskSnapshot>;
  /** The state of a task (`task/response`). The task's own error is returned in the snapshot, not thrown. */
  taskResponse(options: RequestOptions & { connector: string; withPayload?: boolean }): Promise<TaskSnapshot>;
  /** A ticket for the output of a completed conversion (`download/url`). Safe to repeat. */
  downloadUrl(options: RequestOptions & { connector: string }): Promise<DownloadTicket>;
  /** Opens the output's byte stream (`download/url/get`). Safe to repeat. The signal also ends the stream. */
  download(options: ResultOptions): Promise<DownloadStream>;
  /** The supported input or output formats, optionally only those that pair with `format` (`convert/formats`). */
  formats(
    options: Pick<RequestOptions, 'signal'> & { sublist: 'inputs' | 'outputs'; format?: string | undefined },
  ): Promise<Format[]>;
  /** One format (`format/get`). */
  format(options: { format: string; signal?: AbortSignal | undefined }): Promise<Format>;
  /** Whether the pair can be converted (`convert/graph`). An unknown format is an error. */
  canConvert(options: { input: string; output: string; signal?: AbortSignal | undefined }): Promise<boolean>;
  /** Waits for requests in flight, then closes the connections. */
  close(): Promise<void>;
}

/** Called for every request of a client; its methods must neither throw nor block. */
export interface RequestObserver {
  /** A request has left the line at the rate limit: let through, turned away or aborted. */
  waited(wait: { endpoint: Endpoint; seconds: number }): void;
  /** Response headers have arrived, or certainly won't. Each request of a redirect chain is reported. */
  answered(answer: { endpoint: Endpoint; status: number | ClientErrorCode; seconds: number }): void;
  /** Bytes of a file were sent or received; the transfer may have failed. */
  transferred(transfer: { direction: 'up' | 'down'; bytes: number }): void;
}
