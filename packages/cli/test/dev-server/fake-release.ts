import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import path from 'node:path';
import { promisify } from 'node:util';

/** Output of the real CLI for `--version`. */
export const versionAnswer = 'temporal version 1.9.1 (Server 1.32.0, UI 2.54.1)';

/** Writes a script that prints the version of a Temporal CLI. */
export async function writeFakeCli(file: string, answer = versionAnswer): Promise<string> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, `#!/bin/sh\necho '${answer}'\n`);
  await chmod(file, 0o755);
  return file;
}

/** A fake of the vendor's download host; it records the requests. */
export class FakeVendor {
  readonly requests: string[] = [];
  /** If set, replaces the answer to the archive's URL. */
  answer: ((response: ServerResponse) => void) | undefined;
  readonly #server: Server;

  private constructor(archive: Buffer) {
    this.#server = createServer((request, response) => {
      this.requests.push(request.url ?? '');
      if (request.url?.startsWith('/cli/archive/')) {
        if (this.answer) this.answer(response);
        else response.writeHead(302, { location: '/moved.tar.gz' }).end();
      } else if (request.url === '/moved.tar.gz') {
        response.writeHead(200, { 'content-length': archive.length }).end(archive);
      } else response.writeHead(404).end();
    });
  }

  static async start(folder: string): Promise<FakeVendor> {
    const content = await mkdtemp(path.join(folder, 'archive-'));
    await writeFakeCli(path.join(content, 'temporal'));
    await writeFile(path.join(content, 'LICENSE'), 'MIT');
    const file = path.join(content, 'archive.tar.gz');
    await promisify(execFile)('tar', ['-czf', file, '-C', content, 'LICENSE', 'temporal']);
    const vendor = new FakeVendor(await readFile(file));
    await new Promise<void>((resolve) => vendor.#server.listen(0, '127.0.0.1', resolve));
    return vendor;
  }

  get origin(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('The server does not listen.');
    return `http://127.0.0.1:${address.port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
