import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { makeFolder } from '../storage/folder';

/** A new folder with these files: contents by relative path. */
export async function makeTree(files: Record<string, string | Buffer> = {}): Promise<string> {
  const folder = await makeFolder();
  await addFiles(folder, files);
  return folder;
}

export async function addFiles(folder: string, files: Record<string, string | Buffer>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content);
  }
}

export const readJsonl = async (file: string): Promise<unknown[]> =>
  (await readFile(file, 'utf8'))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);

/** The URI of a folder, with a trailing slash. */
export const folderUri = (...segments: string[]): string => pathToFileURL(`${path.join(...segments)}/`).href;

/** A stream in pieces of the given size. */
export async function* inPieces(content: string | Buffer, size = Infinity): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(content);
  for (let start = 0; start < bytes.length; start += size) {
    yield await Promise.resolve(bytes.subarray(start, Math.min(start + size, bytes.length)));
  }
}

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}
