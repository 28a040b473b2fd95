import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

/** Finds a secret in plain text, URL-encoded, in hexadecimal, or anywhere inside base64. */
export class SecretTraces {
  private readonly forms: readonly { form: string; bytes: Buffer }[];

  constructor(secret: string) {
    this.forms = [
      { form: 'as it is', text: secret },
      { form: 'URL-encoded', text: encodeURIComponent(secret) },
      { form: 'in JSON', text: JSON.stringify(secret).slice(1, -1) },
      { form: 'in hexadecimal', text: Buffer.from(secret).toString('hex') },
      ...base64Forms(secret).map((text) => ({ form: 'in base64', text })),
    ].map(({ form, text }) => ({ form, bytes: Buffer.from(text) }));
  }

  /** The form in which the content contains the secret; undefined if it does not. */
  find(content: Buffer | string): string | undefined {
    const bytes = Buffer.from(content);
    return this.forms.find((each) => bytes.includes(each.bytes))?.form;
  }

  /** Searches all strings and byte arrays of a value, and its decoded base64 strings. */
  findInValue(value: unknown): string | undefined {
    if (value instanceof Uint8Array) return this.find(Buffer.from(value));
    if (typeof value === 'string') return this.find(value) ?? this.find(Buffer.from(value, 'base64'));
    if (typeof value !== 'object' || value === null) return undefined;
    for (const [key, each] of Object.entries(value)) {
      const found = this.find(key) ?? this.findInValue(each);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Searches the raw bytes of every file in a folder, including databases. Returns `<file>: <form>` for each hit. */
  async findInFolder(folder: string, except: readonly string[] = []): Promise<string[]> {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
    const found: string[] = [];
    for (const file of files.filter((each) => !except.includes(each))) {
      const form = this.find(await readFile(file));
      if (form !== undefined) found.push(`${path.relative(folder, file)}: ${form}`);
    }
    return found;
  }
}

/** The base64 characters that depend only on the secret, for each of the three offsets. */
function base64Forms(secret: string): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]);
    const from = Math.ceil((offset * 8) / 6);
    const to = Math.floor((bytes.length * 8) / 6);
    return [bytes.toString('base64').slice(from, to), bytes.toString('base64url').slice(from, to)];
  });
}
