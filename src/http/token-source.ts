import { stat } from 'node:fs/promises';
import { systemErrorCode, whyUnreadable } from '../messages/system-error';
import { readSetting } from '../storage/replace-file';

/** The token of one request. Its version stands for it where its text must not appear. */
export interface IssuedToken {
  readonly text: string;
  readonly version: number;
}

/** Provides the token of every request of an app. */
export interface TokenSource {
  /** @throws TokenUnreadableError when no token could be read yet. */
  current(): Promise<IssuedToken>;
  /** Reports a token that the service refused; resolves to whether a later request may send another one. */
  refused(version: number): Promise<boolean>;
  /** The latest tokens, to be masked in quoted answers. */
  readonly known: readonly string[];
}

/** A file or a function yields no token that a request can carry. The message never contains one. */
export class TokenUnreadableError extends Error {
  override readonly name = 'TokenUnreadableError';
}

interface TokenOrigin {
  read: () => string | Promise<string>;
  /** The file that holds the token. Default: `read` is called again only after a refusal. */
  file?: string | undefined;
  /** Another token is used from now on. */
  onChange?: () => void;
  /** The token could not be read again, and the old one stays in use. */
  onUnreadable?: (reason: string) => void;
}

/** A file that changed this recently may be half written. */
const settlesWithinMs = 1_000;
/** Refusals within this time share one call of `read`, however many requests a service refuses. */
const askAgainMs = 1_000;
/** The same after a call that gave another token, or a function that always does would have refusals repeated without end. */
const renewAgainMs = 30_000;
/** Callers that wait for `read` cannot be cancelled, and would keep a worker from ending. */
const readWithinMs = 30_000;
/** A service may still quote a token of earlier requests. */
const knownAtMost = 8;

/** A token that never changes. */
export function fixedToken(token: string): TokenSource {
  const issued = { text: token.trim(), version: 1 };
  return {
    current: () => Promise.resolve(issued),
    refused: () => Promise.resolve(false),
    known: [issued.text],
  };
}

/** A token that is read again when its file changes, and after a refusal. */
export class RereadToken implements TokenSource {
  known: readonly string[] = [];
  #issued: IssuedToken | undefined;
  /** Stamp of the file whose token is in use. */
  #stamp: string | undefined;
  #reading: Promise<IssuedToken> | undefined;
  #askAgainAt = Number.NEGATIVE_INFINITY;
  #loggedReason: string | undefined;

  constructor(private readonly origin: TokenOrigin) {}

  async current(): Promise<IssuedToken> {
    const file = await this.#look();
    if (this.#issued && (file.stamp === this.#stamp || file.isSettling)) return this.#issued;
    return this.#read();
  }

  async refused(version: number): Promise<boolean> {
    const { stamp, isSettling } = await this.#look();
    if (this.#issued?.version === version && !isSettling) {
      const now = performance.now();
      if (stamp !== this.#stamp || now >= this.#askAgainAt) {
        this.#askAgainAt = now + askAgainMs;
        const renewed = await this.#read();
        if (renewed.version !== version) this.#askAgainAt = now + renewAgainMs;
      }
      await this.#reading;
    }
    return isSettling || this.#issued?.version !== version;
  }

  #read(): Promise<IssuedToken> {
    this.#reading ??= this.#readOnce().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  async #readOnce(): Promise<IssuedToken> {
    try {
      // Read before the text, so that the next request notices a change in between.
      const { stamp } = await this.#look();
      const given: unknown = await inTime(this.origin.read());
      const text = typeof given === 'string' ? given.trim() : '';
      if (!isSendable(text)) throw new Error(text === '' ? 'it is empty' : 'it is not one word of ASCII');
      this.#stamp = stamp;
      this.#loggedReason = undefined;
      return this.#issue(text);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      // A file may be empty or missing while it is replaced.
      if (!this.#issued) throw new TokenUnreadableError(`the token can't be read: ${reason}`, { cause: error });
      if (reason !== this.#loggedReason) this.origin.onUnreadable?.(reason);
      this.#loggedReason = reason;
      return this.#issued;
    }
  }

  #issue(text: string): IssuedToken {
    const old = this.#issued;
    if (old?.text === text) return old;
    if (old) this.origin.onChange?.();
    this.known = [text, ...this.known].slice(0, knownAtMost);
    return (this.#issued = { text, version: (old?.version ?? 0) + 1 });
  }

  async #look(): Promise<{ stamp?: string; isSettling: boolean }> {
    const { file } = this.origin;
    if (file === undefined) return { isSettling: false };
    try {
      const { mtimeNs, mtimeMs, size, ino } = await stat(file, { bigint: true });
      const isSettling = Math.abs(Date.now() - Number(mtimeMs)) < settlesWithinMs;
      return { stamp: `${mtimeNs} ${size} ${ino}`, isSettling };
    } catch (error) {
      return { stamp: systemErrorCode(error) ?? 'unknown', isSettling: false };
    }
  }
}

async function inTime<T>(reading: T | Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const giveUp = () => reject(new Error(`no answer within ${readWithinMs / 1_000} s`));
    timer = setTimeout(giveUp, readWithinMs);
  });
  return Promise.race([reading, late]).finally(() => clearTimeout(timer));
}

/** @throws an error that names the file, but never its contents. */
export async function readTokenFile(file: string): Promise<string> {
  try {
    return await readSetting(file);
  } catch (error) {
    throw new Error(`${file}: ${whyUnreadable(error)}`, { cause: error });
  }
}

/** Whether an HTTP header can carry the token. */
export function isSendable(token: string): boolean {
  return /^[\x21-\x7e]+$/.test(token);
}
