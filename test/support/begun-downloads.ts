import { readdir } from 'node:fs/promises';

/** Names of the temporary files of downloads in a folder, which may not be there yet. */
export async function begunDownloads(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(() => [])).filter((name) => /\.\d+\.part$/.test(name));
}
