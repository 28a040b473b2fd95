import { readdir } from 'node:fs/promises';

/** Names of the temporary files of downloads in a folder, which may not be there yet. */
export const begunDownloads = async (folder: string): Promise<string[]> =>
  (await readdir(folder).catch(() => [])).filter((name) => /\.\d+\.part$/.test(name));
