import { stat } from 'node:fs/promises';

/** A settings file that may change while the service runs. */
export class WatchedFile {
  #work: Promise<unknown> = Promise.resolve();
  #found: string;

  /**
   * @param seen The fingerprint of the file before it was first read.
   * @param read Reads it, once at a time; never rejects. False: it is invalid, and nothing changed.
   */
  constructor(
    private readonly file: string,
    private seen: string,
    private readonly read: (last: { wasThere: boolean }) => Promise<boolean>,
  ) {
    this.#found = seen;
  }

  reload(): Promise<boolean> {
    return this.#next(() => this.#read());
  }

  /** Reads a file that has changed and is no longer changing: half of it may be a valid file without most of its tables. */
  look(): Promise<void> {
    return this.#next(async () => {
      const before = this.#found;
      this.#found = await fingerprint(this.file);
      if (this.#found !== this.seen && this.#found === before) await this.#read();
    });
  }

  async #read(): Promise<boolean> {
    const wasThere = this.seen !== '';
    this.seen = await fingerprint(this.file);
    return this.read({ wasThere });
  }

  #next<T>(step: () => Promise<T>): Promise<T> {
    const result = this.#work.then(step);
    this.#work = result;
    return result;
  }
}

/** Changes whenever the file does; empty if there is none. */
export async function fingerprint(file: string): Promise<string> {
  return stat(file, { bigint: true }).then(
    ({ mtimeNs, size, ino }) => `${mtimeNs}/${size}/${ino}`,
    () => '',
  );
}
