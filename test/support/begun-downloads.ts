import { readdir } from 'node:fs/promises';

/** Names of the temporary files of downloads in a folder, which may not be there yet. Markers of uploads are none of them. */
export async function begunDownloads(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => /\.[1-9]\d*\.part$/.test(name));
}
