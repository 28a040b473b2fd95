import { open, type FileHandle } from 'node:fs/promises';

const bufferedCharacters = 64 * 1024;

export class JsonlWriter {
  #lines: string[] = [];
  #characters = 0;

  private constructor(private readonly handle: FileHandle) {}

  /** @throws if the file exists. */
  static async create(file: string): Promise<JsonlWriter> {
    return new JsonlWriter(await open(file, 'wx'));
  }

  async write(value: unknown): Promise<void> {
    const line = `${JSON.stringify(value)}\n`;
    this.#lines.push(line);
    this.#characters += line.length;
    if (this.#characters >= bufferedCharacters) await this.flush();
  }

  async flush(): Promise<void> {
    const text = this.#lines.join('');
    this.#lines = [];
    this.#characters = 0;
    if (text !== '') await this.handle.appendFile(text);
  }

  /** Makes the lines written so far survive a power cut. */
  async sync(): Promise<void> {
    await this.flush();
    await this.handle.sync();
  }

  /** Does not flush: call `flush` or `sync` first, or the last lines may be missing. */
  async close(): Promise<void> {
    await this.handle.close();
  }
}
