import { isObject } from 'temporal-file-conversion/contract';
import type { IncomingHttpHeaders } from 'node:http';

/** An answer as it came over the wire; reading from it assumes nothing about its shape. */
export class Reply {
  /** Undefined if the body is not JSON. Secrets are masked first, because a message could cut one in two. */
  readonly json: unknown;

  constructor(
    readonly status: number,
    readonly headers: IncomingHttpHeaders,
    readonly bytes: Buffer,
    hide = (text: string) => text,
  ) {
    this.json = parseJson(hide(bytes.toString('utf8')));
  }

  /** The value at this path of the JSON body, such as `result.output`; undefined if there is none. */
  at(path: string): unknown {
    return valueAt(this.json, path);
  }

  text(path: string): string | undefined {
    const value = this.at(path);
    return typeof value === 'string' ? value : undefined;
  }

  /** The keys of the body, if it is an object. */
  get keys(): readonly string[] {
    return isObject(this.json) ? Object.keys(this.json) : [];
  }

  /** The error code of the request itself, which is at the top level if include leaves out the result. */
  get errorCode(): string | undefined {
    return this.text('result.error.code') ?? this.text('code');
  }

  get errorMessage(): string | undefined {
    return this.text('result.error.message') ?? this.text('message');
  }

  header(name: string): string | undefined {
    const value = this.headers[name.toLowerCase()];
    return Array.isArray(value) ? value[0] : value;
  }

  /** For example `HTTP 200, {"result":...`. */
  describe(): string {
    const body = this.json === undefined ? `${this.bytes.length} bytes that are no JSON` : JSON.stringify(this.json);
    return `HTTP ${this.status}, ${body.length > 200 ? `${body.slice(0, 197)}...` : body}`;
  }
}

export function valueAt(value: unknown, path: string): unknown {
  const step = (holder: unknown, key: string) =>
    isObject(holder) && Object.hasOwn(holder, key) ? holder[key] : undefined;
  return path.split('.').reduce<unknown>(step, value);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
